// SPDX-License-Identifier: BSL-1.0
#include "client/local_waiter.hpp"

#include "client/client_core.hpp"

#include <boost/asio/error.hpp>

namespace mortise::detail {
namespace {

// Cancels a waiter. It stays in the slot after the wait has ended, because only the coroutine's own
// strand may touch a slot; it then finds nothing to cancel.
class canceller {
public:
    canceller(std::weak_ptr<client_core> owner, std::weak_ptr<local_waiter> waiter)
        : owner_(std::move(owner)), waiter_(std::move(waiter)) {}

    // All three cancellation types mean the same: nothing is held, and nothing is left.
    void operator()(asio::cancellation_type_t type) const {
        const auto owner = owner_.lock();
        const auto waiter = owner ? waiter_.lock() : nullptr;
        if (waiter && type != asio::cancellation_type::none)
            owner->locals.cancel(*waiter, asio::error::operation_aborted);
    }

private:
    std::weak_ptr<client_core> owner_;
    std::weak_ptr<local_waiter> waiter_;
};

}  // namespace

void local_waiter::listen() {
    auto slot = std::visit([](const auto& each) { return each.slot(); }, handler_);
    if (slot.is_connected())
        slot.emplace<canceller>(owner_, weak_from_this());
}

void local_waiter::complete() {
    // Move lease and handler out: an object that still refers to this one must not keep them alive.
    lease held = granted ? lease(std::move(granted)) : lease();
    if (auto* acquire = std::get_if<acquire_handler>(&handler_)) {
        auto taken = std::move(*acquire);
        taken.complete(code, std::move(held));
        return;
    }
    auto taken = std::move(std::get<try_handler>(handler_));
    std::optional<lease> result;
    if (!code)
        result.emplace(std::move(held));
    taken.complete(code == errc::busy ? error_code() : code, std::move(result));
}

}  // namespace mortise::detail
