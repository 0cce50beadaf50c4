// SPDX-License-Identifier: BSL-1.0
// The recommended way to hold a lock: `with_lock` acquires it, runs some work, and releases it.
// Start this program twice at the same time: the second one waits for the first.
//
// Prints:
//     the lock is mine, with token N

//[with_lock
#include <mortise/mortise.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> nightly(asio::io_context& context, mortise::lock_client& locks) {
    auto work = [&](const mortise::lease& held) -> asio::awaitable<void> {
        std::cout << "the lock is mine, with token " << held.token().value << std::endl;
        asio::steady_timer second(context, 1s);  // work that only one process may do
        co_await second.async_wait(asio::deferred);
    };
    co_await mortise::with_lock(locks, "nightly", {.wait_max = 10s}, work);
    co_await locks.async_stop();
}

int main() {
    asio::io_context context;
    mortise::lock_client locks(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, nightly(context, locks), [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();
}
//]
