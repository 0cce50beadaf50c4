// SPDX-License-Identifier: BSL-1.0
#include "bench/tcc_world.hpp"

#include "bench/interruption.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/txn/functions.hpp"

#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace mortise::tool {

std::shared_ptr<txn::participant> willing_participant() {
    const auto agree = [](const txn::call&) -> asio::awaitable<txn::reply> {
        co_return txn::reply::done();
    };
    return txn::make_participant(agree, agree, agree);
}

asio::awaitable<void> await_so(std::function<bool()> is_so, clock::duration limit) {
    const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
    const auto end = clock::now() + limit;
    while (!is_so()) {
        interruption::check();
        if (clock::now() > end)
            throw failure(exit_code::unavailable, "the transactions of the measurement do not end");
        co_await coro::sleep_for(*time, std::chrono::milliseconds(1));
    }
}

}  // namespace mortise::tool
