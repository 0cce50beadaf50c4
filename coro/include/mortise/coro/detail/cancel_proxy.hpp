// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_CANCEL_PROXY_HPP
#define MORTISE_CORO_DETAIL_CANCEL_PROXY_HPP

#include "mortise/coro/fwd.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>

#include <memory>
#include <utility>

namespace mortise::coro::detail {

/// The cancellation handler of an operation that lives on a strand. Users emit on any thread, so it
/// only goes to the strand and calls `operation->on_cancel(type)` there, if the operation still
/// exists.
template <class Operation>
class cancel_proxy {
public:
    cancel_proxy(asio::any_io_executor strand, std::weak_ptr<Operation> operation)
        : strand_(std::move(strand)), operation_(std::move(operation)) {}

    void operator()(asio::cancellation_type_t type) const {
        asio::dispatch(strand_, [operation = operation_, type] {
            if (const auto alive = operation.lock())
                alive->on_cancel(type);
        });
    }

private:
    asio::any_io_executor strand_;
    std::weak_ptr<Operation> operation_;
};

/// Installs a proxy, unless nobody can ever emit. The slot is taken from the handler in the
/// initiating call and is not touched again: clearing it from the strand would be a race with the
/// emitter, and a proxy that is left behind finds its operation gone.
template <class Operation>
void install_cancel_proxy(
    asio::cancellation_slot slot, asio::any_io_executor strand, std::weak_ptr<Operation> operation
) {
    if (slot.is_connected())
        slot.emplace<cancel_proxy<Operation>>(std::move(strand), std::move(operation));
}

}  // namespace mortise::coro::detail

#endif
