// SPDX-License-Identifier: BSL-1.0
// The best way to hold a lock: `with_lock` acquires it, runs some work and releases it. Start this
// program twice at the same time: the second one waits for the first.
//
// Prints:
//     the lock is mine, with token N

#include "mortise/mortise.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// What only one process at a time may do. It hands the token to whatever it writes to, so that a
/// writer that comes too late can be refused there.
asio::awaitable<void> make_report(mortise::fencing_token token) {
    std::cout << "the lock is mine, with token " << token.value << std::endl;
    asio::steady_timer timer(co_await asio::this_coro::executor, 1s);
    co_await timer.async_wait(asio::deferred);
}

void rethrow(const std::exception_ptr& thrown) {
    if (thrown)
        std::rethrow_exception(thrown);
}

//[with_lock
asio::awaitable<void> nightly(mortise::lock_client& locks) {
    auto work = [](const mortise::lease& held) { return make_report(held.token()); };
    co_await mortise::with_lock(locks, "nightly", {.wait_max = 10s}, work);
    co_await locks.async_stop();
}

int main() {
    asio::io_context context;
    mortise::lock_client locks(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, nightly(locks), rethrow);
    context.run();
}
//]
