// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/sleep.hpp"

namespace mortise::coro {

asio::awaitable<void> sleep_for(time_source& time, clock::duration span) {
    co_await time.async_wait_until(saturating_add(time.now(), span));
}

asio::awaitable<void> sleep_until(time_source& time, clock::time_point when) {
    co_await time.async_wait_until(when);
}

}  // namespace mortise::coro
