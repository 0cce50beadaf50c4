// SPDX-License-Identifier: BSL-1.0
// Reentrancy: code under a lock calls code that takes the same lock. With the same owner the inner
// acquire succeeds at once; without an owner it would wait for itself. Then three options for locks
// that you take often or hold long: `linger`, `contended` and `hold_max`.
//
// Prints:
//     posted 3 lines, the lock is held
//     without an owner: busy
//     5 visits cost 1 requests
//     lets go after 2 parts, for somebody waits
//     extended: still held
//     after hold_max: over

#include "mortise/coro/task_scope.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <tuple>

namespace asio = boost::asio;
using mortise::lock_client;
using mortise::owner_id;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> pause(std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::deferred);
}

//[reentrancy
/// Takes the lock itself, whether its caller has it or not.
asio::awaitable<void> post(lock_client& locks, owner_id owner, int& lines) {
    auto held = co_await locks.async_acquire("ledger", {.owner = owner});
    ++lines;
}
//]

asio::awaitable<void> close_month(lock_client& locks) {
    const auto owner = owner_id::draw();  // one owner per request, not per thread or program
    auto held = co_await locks.async_acquire("ledger", {.owner = owner});
    int lines = 0;
    for (int i = 0; i < 3; ++i)
        co_await post(locks, owner, lines);
    std::cout << "posted " << lines << " lines, the lock is " << (held.held() ? "held" : "gone")
              << '\n';
    auto again =
        co_await locks.async_acquire("ledger", {.wait_max = 20ms}, asio::as_tuple(asio::deferred));
    std::cout << "without an owner: "
              << (std::get<0>(again) == mortise::errc::busy ? "busy" : "granted") << '\n';
}

// After a release the grant stays here for a while, unless another client asks for the lock.
asio::awaitable<void> come_often(lock_client& locks) {
    const auto before = locks.stats().requests;
    for (int i = 0; i < 5; ++i) {
        auto held = co_await locks.async_acquire("window", {.linger = 10s});
        co_await held.async_release();
    }
    std::cout << "5 visits cost " << locks.stats().requests - before << " requests\n";
}

// Does long work in parts, and lets go between two parts if somebody waits.
asio::awaitable<void> work_in_parts(lock_client& locks, lock_client& other) {
    auto held = co_await locks.async_acquire("archive");
    mortise::coro::task_scope tasks(co_await asio::this_coro::executor);
    int parts = 0;
    while (!held.contended()) {
        co_await pause(20ms);
        if (++parts == 1)
            tasks.spawn([](lock_client& who) -> asio::awaitable<void> {
                auto got = co_await who.async_acquire("archive");
            }(other));
    }
    std::cout << "lets go after " << parts << " parts, for somebody waits\n";
    co_await held.async_release();
    co_await tasks.join();
}

// The classic lease: it ends after `hold_max`, even if its holder is alive. Who needs longer says
// so, or that less will do.
asio::awaitable<void> stay_too_long(lock_client& locks) {
    auto held = co_await locks.async_acquire("desk", {.hold_max = 10min});
    co_await held.async_extend(1h);
    std::cout << "extended: " << (held.held() ? "still held" : "over") << '\n';
    co_await held.async_extend(100ms);
    co_await pause(150ms);
    const bool over = held.check() == mortise::condition::not_held;
    std::cout << "after hold_max: " << (over ? "over" : "still held") << '\n';
}

asio::awaitable<void> run(lock_client& one, lock_client& two) {
    co_await close_month(one);
    co_await come_often(one);
    co_await work_in_parts(one, two);
    co_await stay_too_long(one);
    co_await one.async_stop();
    co_await two.async_stop();
}

}  // namespace

int main() try {
    asio::io_context context;
    lock_client one(context.get_executor(), mortise::open_store("memory:office"));
    lock_client two(context.get_executor(), mortise::open_store("memory:office"));
    asio::co_spawn(context, run(one, two), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
