// SPDX-License-Identifier: BSL-1.0
#include "bench/pause.hpp"

#include "bench/interruption.hpp"
#include "mortise/coro/clock.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>

namespace mortise::tool {

asio::awaitable<void> pause_for(std::chrono::milliseconds span) {
    constexpr std::chrono::milliseconds look_every(100);
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    const clock::time_point end = clock::now() + span;
    for (clock::time_point now = clock::now(); now < end; now = clock::now()) {
        timer.expires_after(std::min<clock::duration>(look_every, end - now));
        co_await timer.async_wait(asio::deferred);
        interruption::check();
    }
}

}  // namespace mortise::tool
