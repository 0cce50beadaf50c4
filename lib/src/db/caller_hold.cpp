// SPDX-License-Identifier: BSL-1.0
#include "db/caller_hold.hpp"

#include <boost/asio/query.hpp>

namespace mortise::db::detail {

using coro::detail::wait_service;

caller_hold::~caller_hold() {
    wait_service::unlink(*this);
}

bool caller_hold::attach(std::function<void()> ended) {
    ended_ = std::move(ended);
    auto& context = asio::query(*executor_, asio::execution::context);
    return wait_service::of(context).link(shared_from_this());
}

bool caller_hold::add(std::shared_ptr<caller_share> share) {
    std::lock_guard hold(mutex_);
    if (executor_)
        shares_.insert(std::move(share));
    return executor_.has_value();
}

// The shares go before the executor, on which their handlers may count as work, and outside of the
// mutex: a frame that is destroyed may end others.
void caller_hold::let_go() noexcept {
    std::optional<asio::any_io_executor> executor;
    shares dropped;
    {
        std::lock_guard hold(mutex_);
        if (executor_)
            wait_service::unlink(*this);
        executor.swap(executor_);
        dropped.swap(shares_);
    }
    for (const auto& each : dropped)
        each->let_go();
}

// Leaves the service under the mutex: as long as the context waits for it, the service is there.
void caller_hold::leave() noexcept {
    std::lock_guard hold(mutex_);
    if (!executor_)
        return;
    wait_service::unlink(*this);
    executor_.reset();
}

void caller_hold::shut_down() noexcept {
    let_go();
    if (const auto ended = std::exchange(ended_, nullptr))
        ended();
}

}  // namespace mortise::db::detail
