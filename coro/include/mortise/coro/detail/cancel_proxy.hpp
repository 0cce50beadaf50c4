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
/// only goes to `operation->strand()`, if the operation still exists, and calls
/// `operation->on_cancel(type)` there. The strand is empty when its context has ended.
///
/// It holds no executor: it stays in the slot of a user, who may keep that longer than any context.
template <class Operation>
class cancel_proxy {
public:
    explicit cancel_proxy(std::weak_ptr<Operation> operation) : operation_(std::move(operation)) {}

    void operator()(asio::cancellation_type_t type) const {
        auto alive = operation_.lock();
        if (!alive)
            return;
        if (const asio::any_io_executor strand = alive->strand())
            asio::dispatch(strand, [alive = std::move(alive), type] { alive->on_cancel(type); });
    }

private:
    std::weak_ptr<Operation> operation_;
};

/// Installs a proxy, unless nobody can ever emit. The slot is taken from the handler in the
/// initiating call and is not touched again: clearing it from the strand would be a race with the
/// emitter, and a proxy that is left behind finds its operation gone.
template <class Operation>
void install_cancel_proxy(asio::cancellation_slot slot, std::weak_ptr<Operation> operation) {
    if (slot.is_connected())
        slot.emplace<cancel_proxy<Operation>>(std::move(operation));
}

}  // namespace mortise::coro::detail

#endif
