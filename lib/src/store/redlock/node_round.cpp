// SPDX-License-Identifier: BSL-1.0
#include "store/redlock/node_round.hpp"

#include "mortise/coro/detail/with_code.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::store_detail {

using std::chrono::milliseconds;

asio::awaitable<void> node_round::wait(std::function<bool()> enough, clock::duration grace_min) {
    while (pending_ != 0 && !late_) {
        if (!late_alarm_.is_set() && enough()) {
            const auto now = time_->now();
            constexpr clock::duration longest = milliseconds(100);
            const auto grace = std::max(std::min(now - began_, longest), grace_min);
            late_alarm_.set(*time_, strand_, now + grace, [this] {
                late_ = true;
                news_.set();
            });
        }
        news_.reset();
        auto waiting = news_.async_wait(coro::detail::with_code);
        const auto [stopped] = co_await std::move(waiting);
        if (stopped)
            break;
    }
    late_alarm_.cancel();
}

asio::awaitable<void> node_round::wait_until(std::function<bool()> enough) {
    while (pending_ != 0 && !enough()) {
        news_.reset();
        auto waiting = news_.async_wait(coro::detail::with_code);
        const auto [stopped] = co_await std::move(waiting);
        if (stopped)
            break;
    }
}

}  // namespace mortise::store_detail
