// SPDX-License-Identifier: BSL-1.0
// How to try without waiting, to limit a wait, and to cancel a wait. A cancelled acquire leaves no
// request in the queue.
//
// Prints:
//     a try: somebody has it
//     wait_max: not free within 50 ms
//     cancel_after: operation_aborted, and 0 wait
//     SIGTERM: operation_aborted, and 0 wait
//     a try: mine
//     cancelled at work: released, and operation_aborted goes on

#include "mortise/mortise.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace asio = boost::asio;
using mortise::error_code;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> look_in(mortise::lock_client& guest) {
    // A busy lock is no error for a try: the result is a lease or nothing.
    const auto got = co_await guest.async_try_acquire("door");
    std::cout << "a try: " << (got ? "mine" : "somebody has it") << '\n';
}

asio::awaitable<void> wait_a_little(mortise::lock_client& guest) {
    const auto acquired =
        co_await guest.async_acquire("door", {.wait_max = 50ms}, asio::as_tuple(asio::deferred));
    const auto& [code, held] = acquired;
    if (code == mortise::errc::busy)
        std::cout << "wait_max: not free within 50 ms\n";
}

/// How many requests for the door wait at the store.
asio::awaitable<std::uint64_t> queue_length(mortise::lock_client& locks) {
    const auto door = co_await locks.async_inspect("door", 10);
    co_return door ? door->waiter_count : 0;
}

asio::awaitable<void> tell(const char* way, error_code code, mortise::lock_client& locks) {
    const auto left = co_await queue_length(locks);
    if (code != asio::error::operation_aborted)
        throw std::logic_error("nobody opened that door");
    std::cout << way << ": operation_aborted, and " << left << " wait\n";
}

//[cancel
// Asio's own tools work on every operation of the library.
asio::awaitable<void> wait_with_a_timer(mortise::lock_client& guest) {
    const auto acquired = co_await guest.async_acquire(
        "door", {}, asio::cancel_after(50ms, asio::as_tuple(asio::deferred))
    );
    co_await tell("cancel_after", std::get<0>(acquired), guest);
}

// A signal of the system becomes a cancellation signal of Asio.
asio::awaitable<void> wait_until_terminated(mortise::lock_client& guest) {
    asio::cancellation_signal stop;
    asio::signal_set signals(guest.get_executor(), SIGTERM);
    signals.async_wait([&stop](error_code code, int) {
        if (!code)
            stop.emit(asio::cancellation_type::terminal);
    });
    const auto acquired = co_await guest.async_acquire(
        "door", {}, asio::bind_cancellation_slot(stop.slot(), asio::as_tuple(asio::deferred))
    );
    co_await tell("SIGTERM", std::get<0>(acquired), guest);
}
//]

asio::awaitable<void> work() {
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    co_await timer.async_wait(asio::deferred);
}

//[clean_up
// `with_lock` does this for its callers. After a cancellation each `co_await` throws until the
// state is reset, and C++ allows no `co_await` in a `catch` block.
asio::awaitable<void> work_and_clean_up(mortise::lock_client& locks) {
    auto held = co_await locks.async_acquire("desk");
    std::exception_ptr failure;
    try {
        co_await work();
    } catch (...) {
        failure = std::current_exception();
    }
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await held.async_release();
    if (failure)
        std::rethrow_exception(failure);
}
//]

asio::awaitable<void> be_cancelled_at_work(mortise::lock_client& locks) {
    error_code ended;
    auto task = asio::co_spawn(
        locks.get_executor(), work_and_clean_up(locks), asio::cancel_after(50ms, asio::deferred)
    );
    try {
        co_await std::move(task);
    } catch (const boost::system::system_error& e) {
        ended = e.code();
    }
    const bool free = locks.stats().leases == 0 && locks.stats().released_late == 0;
    std::cout << "cancelled at work: " << (free ? "released" : "not released") << ", and "
              << (ended == asio::error::operation_aborted ? "operation_aborted" : "nothing")
              << " goes on\n";
}

asio::awaitable<void> visit(mortise::lock_client& host, mortise::lock_client& guest) {
    auto held = co_await host.async_acquire("door");
    co_await look_in(guest);
    co_await wait_a_little(guest);
    co_await wait_with_a_timer(guest);

    asio::steady_timer timer(guest.get_executor(), 50ms);
    timer.async_wait([](error_code) { std::raise(SIGTERM); });
    co_await wait_until_terminated(guest);

    co_await held.async_release();
    co_await look_in(guest);
    co_await be_cancelled_at_work(host);
    co_await guest.async_stop();
    co_await host.async_stop();
}

}  // namespace

int main() try {
    asio::io_context context;
    // To the store, two clients are two parties, like two processes.
    mortise::lock_client host(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    mortise::lock_client guest(context.get_executor(), mortise::open_store("sqlite:locks.db"));
    asio::co_spawn(context, visit(host, guest), [](const std::exception_ptr& e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
