// SPDX-License-Identifier: BSL-1.0
#include "unit/txn/scripted_participant.hpp"

#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace mortise::test {

asio::awaitable<void> scripted_participant::pause() {
    const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
    co_await coro::sleep_for(*time, std::chrono::milliseconds(1));
}

}  // namespace mortise::test
