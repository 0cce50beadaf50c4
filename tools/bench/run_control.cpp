// SPDX-License-Identifier: BSL-1.0
#include "bench/run_control.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <iostream>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::array<int, 3> signals{SIGHUP, SIGINT, SIGTERM};
volatile std::sig_atomic_t arrived = 0;
std::array<struct sigaction, signals.size()> handlers_before;

}  // namespace

interruption::interruption() {
    struct sigaction action {};
    action.sa_handler = [](int number) { arrived = number; };
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < signals.size(); ++i) {
        ::sigaction(signals[i], nullptr, &handlers_before[i]);
        if (handlers_before[i].sa_handler != SIG_IGN)  // `nohup` ignores HUP: keep that
            ::sigaction(signals[i], &action, nullptr);
    }
}

interruption::~interruption() {
    for (std::size_t i = 0; i < signals.size(); ++i)
        ::sigaction(signals[i], &handlers_before[i], nullptr);
}

void interruption::check() {
    if (arrived != 0)
        throw failure(exit_code::signal_base + arrived, "the measurement was interrupted");
}

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

progress::progress(std::string title)
    : title_(std::move(title)), visible_(::isatty(STDERR_FILENO) == 1) {}

progress::~progress() {
    if (visible_)
        std::cerr << "\r\x1b[K" << std::flush;
}

void progress::show(std::uint64_t done, std::uint64_t all) {
    if (visible_)
        std::cerr << "\r\x1b[K" << title_ << ": " << done << " of " << all << std::flush;
}

void explain_slow_start(const lock_client& locks, clock::duration first_lock) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(first_lock);
    if (locks.traits().scheme != "redis" || took < std::chrono::milliseconds(500))
        return;
    std::cerr << "mortise: the first lock took " << took.count()
              << " ms: a Redis server that has just started, or was flushed, grants nothing for "
                 "the longest TTL of its clients; if it surely never had a lock, say so by "
                 "?assume_new=1 in the URL\n";
}

}  // namespace mortise::tool
