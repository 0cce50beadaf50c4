// SPDX-License-Identifier: BSL-1.0
// The three modes of a lock: one holder, many readers, or as many holders as there are permits.
//
// Prints:
//     3 readers, and 0 writers beside them
//     0 readers, and 1 writers beside them
//     7 jobs were done by permits 1 to 2, at most 2 at a time

#include "mortise/coro/task_scope.hpp"
#include "mortise/mortise.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> pause(std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::deferred);
}

struct catalogue {
    int readers = 0;
    int writers = 0;
};

//[modes
constexpr mortise::lock_options reading{.mode = mortise::lock_mode::shared()};
constexpr mortise::lock_options printing{.mode = mortise::lock_mode::permits(2)};
//]

asio::awaitable<void> read(mortise::lock_client& locks, catalogue& books, bool speaks) {
    auto held = co_await locks.async_acquire("catalogue", reading);
    ++books.readers;
    co_await pause(50ms);
    if (speaks)
        std::cout << books.readers << " readers, and " << books.writers << " writers beside them\n";
    co_await pause(10ms);
    --books.readers;
    co_await held.async_release();
}

asio::awaitable<void> write(mortise::lock_client& locks, catalogue& books) {
    auto held = co_await locks.async_acquire("catalogue");  // exclusive: waits for the readers
    ++books.writers;
    std::cout << books.readers << " readers, and " << books.writers << " writers beside them\n";
    --books.writers;
    co_await held.async_release();
}

struct presses {
    int running = 0;
    int running_max = 0;
    int jobs = 0;
    std::uint32_t slot_min = mortise::lock_mode::capacity_max;
    std::uint32_t slot_max = 0;
};

// There are two presses. A holder learns from `slot()` which press its permit stands for.
asio::awaitable<void> print(mortise::lock_client& locks, presses& hall) {
    auto held = co_await locks.async_acquire("presses", printing);
    hall.running_max = std::max(hall.running_max, ++hall.running);
    hall.slot_min = std::min(hall.slot_min, held.slot());
    hall.slot_max = std::max(hall.slot_max, held.slot());
    co_await pause(10ms);
    ++hall.jobs;
    --hall.running;
    co_await held.async_release();
}

asio::awaitable<void> run(mortise::lock_client& locks) {
    mortise::coro::task_scope tasks(co_await asio::this_coro::executor);
    catalogue books;
    tasks.spawn(read(locks, books, true));
    tasks.spawn(read(locks, books, false));
    tasks.spawn(read(locks, books, false));
    tasks.spawn(write(locks, books));
    co_await tasks.join();

    presses hall;
    for (int job = 0; job < 7; ++job)
        tasks.spawn(print(locks, hall));
    co_await tasks.join();
    std::cout << hall.jobs << " jobs were done by permits " << hall.slot_min << " to "
              << hall.slot_max << ", at most " << hall.running_max << " at a time\n";
    co_await locks.async_stop();
}

}  // namespace

int main() try {
    asio::io_context context;
    mortise::lock_client locks(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, run(locks), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
