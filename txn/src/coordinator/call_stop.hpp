// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_CALL_STOP_HPP
#define MORTISE_TXN_COORDINATOR_CALL_STOP_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>

#include <memory>

namespace mortise::txn::detail {

namespace asio = boost::asio;

/// The way to tell a call of a participant to end. It lives as long as the call, even if nobody
/// waits for the call any longer. The signal arrives on the strand of the call.
class call_stop : public std::enable_shared_from_this<call_stop> {
public:
    explicit call_stop(const asio::any_io_executor& executor)
        : strand_(asio::make_strand(executor)) {}

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }

    /// May be called from any thread.
    void emit() {
        asio::dispatch(strand_, [self = shared_from_this()] {
            self->signal_.emit(asio::cancellation_type::terminal);
        });
    }

private:
    const asio::any_io_executor strand_;
    asio::cancellation_signal signal_;
};

}  // namespace mortise::txn::detail

#endif
