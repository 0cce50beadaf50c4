// SPDX-License-Identifier: BSL-1.0
#include "store/redis/command_lane.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace mortise::store_detail {

bool command_lane::enter_now(priority urgency) noexcept {
    if (!refused_.empty())
        return false;
    const bool must_wait = !waiting_.empty() || admitted_ != 0 || in_flight_ >= in_flight_max;
    if (must_wait && urgency == priority::normal)
        return false;
    ++in_flight_;
    return true;
}

asio::awaitable<bool> command_lane::enter(priority urgency) {
    auto mine = std::make_shared<waiter>(strand_);
    if (urgency == priority::urgent)
        waiting_.push_front(mine);
    else
        waiting_.push_back(mine);
    return wait(std::move(mine));
}

asio::awaitable<bool> command_lane::enter_again() {
    auto mine = std::make_shared<waiter>(strand_);
    refused_.push_back(mine);
    // Posted, because the caller must begin to wait before it is admitted, or it would resume
    // behind the others.
    if (--in_flight_ == 0) {
        asio::post(strand_, [this, alive = std::weak_ptr(alive_)] {
            if (!alive.expired())
                admit();
        });
    }
    return wait(std::move(mine));
}

asio::awaitable<bool> command_lane::wait(waiter_ptr mine) {
    const auto cleared = cleared_;
    auto waiting = mine->over.async_wait(coro::detail::with_code);
    co_await std::move(waiting);
    if (cleared != cleared_ || !mine->admitted)
        co_return false;
    --admitted_;
    co_return true;
}

void command_lane::leave() {
    --in_flight_;
    out_of_order_ = out_of_order_ || !refused_.empty();
    if (!out_of_order_)
        admit();
}

// Refused commands keep everything else waiting until all commands in flight have their replies:
// only then is it certain that no later command has overtaken them.
void command_lane::admit() {
    if (!refused_.empty()) {
        if (in_flight_ != 0)
            return;
        waiting_.insert(waiting_.begin(), refused_.begin(), refused_.end());
        refused_.clear();
    }
    while (!waiting_.empty() && in_flight_ < in_flight_max) {
        const auto next = std::move(waiting_.front());
        waiting_.pop_front();
        ++in_flight_;
        ++admitted_;
        next->admitted = true;
        next->over.set();
    }
}

void command_lane::clear() {
    ++cleared_;
    in_flight_ = admitted_ = 0;
    out_of_order_ = false;
    for (auto* each : {&waiting_, &refused_}) {
        for (const auto& sent_away : std::exchange(*each, {}))
            sent_away->over.set();
    }
}

}  // namespace mortise::store_detail
