// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_GATHERED_CALLS_HPP
#define MORTISE_STORE_REDIS_GATHERED_CALLS_HPP

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/event.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// Calls of which one is under way at a time: those that come meanwhile are carried out together by
/// the next one.
///
/// @par Threads The strand.
template <class Work, class Outcome>
class gathered_calls {
public:
    /// What is carried out together.
    struct round {
        round(const asio::any_io_executor& strand, Outcome until_then)
            : outcome(std::move(until_then)), over(strand) {}

        Work work{};
        Outcome outcome;
        coro::event over;
    };
    using round_ptr = std::shared_ptr<round>;
    using carrier = std::function<asio::awaitable<Outcome>(const Work& work)>;

    /// @param until_then the outcome of a round that is not carried out.
    gathered_calls(asio::any_io_executor strand, Outcome until_then, carrier carry_out)
        : strand_(std::move(strand)),
          until_then_(std::move(until_then)),
          carry_out_(std::move(carry_out)) {}

    /// The round of the calls that come now. The caller adds its work, and then waits.
    round_ptr join() {
        if (!next_)
            next_ = std::make_shared<round>(strand_, until_then_);
        return next_;
    }

    /// Waits until the round is over, and begins it if none is under way. A signal of `stop` ends
    /// the wait, and not the round. `owner` lives until all rounds are over.
    asio::awaitable<void>
    wait(std::shared_ptr<void> owner, round_ptr mine, asio::cancellation_slot stop = {}) {
        if (!std::exchange(running_, true))
            asio::co_spawn(strand_, run(std::move(owner)), asio::detached);
        auto waiting =
            mine->over.async_wait(asio::bind_cancellation_slot(stop, coro::detail::with_code));
        co_await std::move(waiting);
    }

    /// Ends the round that has not begun.
    void end_next() noexcept {
        if (const auto pending = std::exchange(next_, nullptr))
            pending->over.set();
    }

private:
    asio::awaitable<void> run([[maybe_unused]] std::shared_ptr<void> owner) {
        while (const auto present = std::exchange(next_, nullptr)) {
            auto carrying = carry_out_(present->work);
            auto outcome = co_await std::move(carrying);
            present->outcome = std::move(outcome);
            present->over.set();
        }
        running_ = false;
    }

    const asio::any_io_executor strand_;
    const Outcome until_then_;
    const carrier carry_out_;
    round_ptr next_;
    bool running_ = false;
};

}  // namespace mortise::store_detail

#endif
