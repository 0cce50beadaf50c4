// SPDX-License-Identifier: BSL-1.0
// Acquires several locks at once: all of them or none. They are always taken in the same order, so
// two callers that want the same locks cannot block each other for ever.
//
// Prints:
//     anna and berta hold 200 together
//     all or none: busy, and carla is free

#include "mortise/coro/task_scope.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using accounts = std::map<std::string, int>;

/// Reads, lets other coroutines run, then writes. This is wrong unless both accounts are locked.
asio::awaitable<void> move_one(int& from, int& to) {
    const int from_had = from;
    const int to_had = to;
    co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
    from = from_had - 1;
    to = to_had + 1;
}

//[several
// Called with (anna, berta) and with (berta, anna) at the same time.
asio::awaitable<void>
transfer(mortise::lock_client& locks, accounts& book, std::string from, std::string to) {
    const std::vector<std::string> both{from, to};  // g++ 12 wants it to have a name
    co_await mortise::with_lock(locks, both, {.wait_max = 5s}, [&](const mortise::lease_set&) {
        return move_one(book[from], book[to]);
    });
}
//]

asio::awaitable<void> all_or_none(mortise::lock_client& locks, mortise::lock_client& other) {
    auto held = co_await other.async_acquire("dora");
    const std::vector<std::string> names{"carla", "dora"};
    auto acquired =
        co_await locks.async_acquire_all(names, {.wait_max = 50ms}, asio::as_tuple(asio::deferred));
    const auto& [code, set] = acquired;
    const auto carla = co_await other.async_try_acquire("carla");
    std::cout << "all or none: " << (code == mortise::errc::busy ? "busy" : "not busy")
              << ", and carla is " << (carla ? "free" : "taken") << '\n';
}

asio::awaitable<void> run(mortise::lock_client& one, mortise::lock_client& two) {
    accounts book{{"anna", 100}, {"berta", 100}};
    mortise::coro::task_scope tasks(co_await asio::this_coro::executor);
    for (int i = 0; i < 5; ++i) {
        tasks.spawn(transfer(one, book, "anna", "berta"));
        tasks.spawn(transfer(two, book, "berta", "anna"));
        tasks.spawn(transfer(two, book, "anna", "berta"));
    }
    co_await tasks.join();
    std::cout << "anna and berta hold " << book["anna"] + book["berta"] << " together\n";
    co_await all_or_none(one, two);
    co_await one.async_stop();
    co_await two.async_stop();
}

}  // namespace

int main() try {
    asio::io_context context;
    mortise::lock_client one(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    mortise::lock_client two(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, run(one, two), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
