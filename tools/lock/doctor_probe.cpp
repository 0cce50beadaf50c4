// SPDX-License-Identifier: BSL-1.0
#include "lock/doctor_probe.hpp"

#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace mortise::tool {
namespace {

using namespace std::chrono_literals;
using verdict = store_finding::verdict;

constexpr std::size_t cycles = 300;
constexpr clock::duration cycles_time_max = 3s;
constexpr std::size_t pushes = 20;
constexpr std::size_t beats_wanted = 2;

double in_microseconds(clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

std::string text_of(clock::duration time) {
    const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    return std::to_string(whole) + " us";
}

/// The value that `share` of all values do not exceed. Sorts them.
clock::duration quantile(std::vector<clock::duration>& times, double share) {
    std::sort(times.begin(), times.end());
    const auto last = static_cast<double>(times.size() - 1);
    return times[static_cast<std::size_t>(last * share)];
}

std::string reason_of(const error_code& code, const std::string& detail) {
    return code.message() + (detail.empty() ? "." : ": " + detail);
}

/// How long to wait for the store to open. A store in quarantine grants nothing for the longest TTL
/// of its clients, and other clients may have a longer TTL than ours.
constexpr std::chrono::milliseconds open_max = 6s;
constexpr clock::duration slow_open = 500ms;

std::string slow_text(clock::duration took) {
    return "The first lock took " + text_of(took) +
           ": a store that may have forgotten who holds what, like a Redis server that has just "
           "started or was flushed, grants nothing for the longest TTL of its clients. It does "
           "now.";
}

std::string closed_text(clock::duration waited) {
    return "A lock that nobody holds was not granted within " + text_of(waited) +
           ": a store that may have forgotten who holds what, like a Redis server that has just "
           "started or was flushed, grants nothing for the longest TTL of its clients. Look again "
           "after that time.";
}

}  // namespace

client_config doctor_probe::config() {
    client_config config;
    config.label = "doctor";
    config.ttl = ttl_;
    config.time = time_;
    config.observer = this;
    return config;
}

/// A short TTL, to keep the measurement of a heartbeat short.
std::chrono::milliseconds doctor_probe::ttl_for(const store_traits& traits) {
    return std::clamp<std::chrono::milliseconds>(1'500ms, traits.ttl_min, traits.ttl_max);
}

void doctor_probe::on_event(const lock_event& event) noexcept {
    if (event.type == lock_event::kind::heartbeat && beats_.size() < beats_.capacity())
        beats_.push_back(event.took);
}

asio::awaitable<void> doctor_probe::examine(doctor_report& report) {
    beats_.reserve(1'000);
    const clock::time_point begin = time_->now();
    const error_code unopened = co_await open();
    const clock::duration took = time_->now() - begin;
    if (unopened == asio::error::operation_aborted)
        throw boost::system::system_error(unopened);
    report.begin("promises");
    report.add_promises(first_.traits());  // some traits depend on the server that answered
    report.begin("store");
    if (unopened == errc::busy)
        report.add(verdict::broken, "opening", closed_text(took));
    else if (unopened)
        report.add(verdict::broken, "opening", reason_of(unopened, first_.explain()));
    else if (took >= slow_open)
        report.add(verdict::holds, "opening", slow_text(took));
    co_await ask_store(report, unopened);
    if (unopened)
        co_return;
    report.begin("measured");
    error_code failed;
    try {
        co_await measure(report);
    } catch (const boost::system::system_error& e) {
        failed = e.code();
    }
    if (failed == asio::error::operation_aborted)
        throw boost::system::system_error(failed);
    if (failed)
        report.add(verdict::broken, "locks", reason_of(failed, first_.explain()));
}

/// Opens the store as the first acquire of any program does. @return the reason if that fails.
asio::awaitable<error_code> doctor_probe::open() {
    lock_options options;
    options.wait_max = open_max;
    auto acquired = co_await first_.async_acquire(name_, options, coro::detail::with_code);
    auto& [code, held] = acquired;
    if (code)
        co_return code;
    auto released = co_await held.async_release(coro::detail::with_code);
    auto& [late] = released;
    co_return late;
}

/// Adds what the store reports about itself. Asks even if the store cannot be opened: the answer
/// may give the reason.
asio::awaitable<void> doctor_probe::ask_store(doctor_report& report, error_code unopened) {
    auto asked = co_await first_.async_examine(coro::detail::with_code);
    auto& [code, findings] = asked;
    if (code == errc::unsupported)
        report.add(verdict::weak, "examination", "This store does not examine itself.");
    else if (code && code != unopened)
        report.add(verdict::broken, "examination", reason_of(code, first_.explain()));
    for (const store_finding& finding : findings)
        report.add(finding);
}

asio::awaitable<void> doctor_probe::measure(doctor_report& report) {
    co_await measure_cycles(report);
    co_await measure_pushes(report);
    co_await measure_heartbeats(report);
}

asio::awaitable<void> doctor_probe::measure_cycles(doctor_report& report) {
    std::vector<clock::duration> times;
    const clock::time_point begin = time_->now();
    for (std::size_t i = 0; i < cycles && time_->now() - begin < cycles_time_max; ++i) {
        const clock::time_point before = time_->now();
        lease held = co_await first_.async_acquire(name_);
        co_await held.async_release();
        times.push_back(time_->now() - before);
    }
    const clock::duration middle = quantile(times, 0.5);
    const clock::duration slow = quantile(times, 0.99);
    report.measure("cycle_us_p50", in_microseconds(middle));
    report.measure("cycle_us_p99", in_microseconds(slow));
    report.add(
        verdict::holds,
        "acquire and release",
        "Half of " + std::to_string(times.size()) + " pairs took at most " + text_of(middle) +
            ", 99 of 100 at most " + text_of(slow) + '.'
    );
}

asio::awaitable<void> doctor_probe::measure_pushes(doctor_report& report) {
    std::vector<clock::duration> times;
    const std::uint64_t missed_before = second_.stats().missed_grants;
    for (std::size_t i = 0; i < pushes; ++i) {
        times.push_back(co_await push_once());
        if (second_.stats().missed_grants != missed_before)
            break;
    }
    const clock::duration middle = quantile(times, 0.5);
    report.measure("handover_us_p50", in_microseconds(middle));
    report.measure("handover_us_max", in_microseconds(times.back()));
    if (!first_.traits().push)
        report.add(verdict::weak, "handover", "Without pushes it took " + text_of(middle) + '.');
    else if (second_.stats().missed_grants != missed_before)
        report.add(
            verdict::weak,
            "pushes",
            "A grant was not told but found by a heartbeat, after " + text_of(times.back()) +
                ": look for what keeps messages between the processes."
        );
    else
        report.add(
            verdict::holds,
            "pushes",
            "A lock went from one client to the next " + std::to_string(times.size()) +
                " times, half of them within " + text_of(middle) + ", all within " +
                text_of(times.back()) + '.'
        );
}

/// Measures the time from the release by one client to the grant to the other, which waits.
asio::awaitable<clock::duration> doctor_probe::push_once() {
    coro::task_scope scope(co_await asio::this_coro::executor);
    clock::time_point released;
    clock::time_point received;
    std::exception_ptr failed;
    lease held = co_await first_.async_acquire(name_);
    scope.spawn(receive(received));
    try {
        co_await await_queued();
        released = time_->now();
        co_await held.async_release();
    } catch (...) {
        failed = std::current_exception();
    }
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    if (failed)
        scope.cancel();
    co_await scope.join();
    co_await asio::this_coro::throw_if_cancelled(throws);
    if (failed)
        std::rethrow_exception(failed);
    co_return received - released;
}

asio::awaitable<void> doctor_probe::receive(clock::time_point& at) {
    lock_options options;
    options.wait_max = 2 * ttl_;
    lease held = co_await second_.async_acquire(name_, options);
    at = time_->now();
    co_await held.async_release();
}

/// Waits until the store has the request of the second client. Only then does the release cause a
/// push.
asio::awaitable<void> doctor_probe::await_queued() {
    const clock::time_point end = time_->now() + ttl_;
    for (;;) {
        auto seen = co_await first_.async_inspect(name_, 1, coro::detail::with_code);
        auto& [code, found] = seen;
        if (code)
            throw boost::system::system_error(code);
        if (found && found->waiter_count != 0)
            co_return;
        if (time_->now() >= end)
            throw boost::system::system_error(errc::busy);
        co_await coro::sleep_for(*time_, 1ms);
    }
}

asio::awaitable<void> doctor_probe::measure_heartbeats(doctor_report& report) {
    const clock::time_point end = time_->now() + ttl_;
    lease held = co_await first_.async_acquire(name_);
    while (beats_.size() < beats_wanted && time_->now() < end)
        co_await coro::sleep_for(*time_, 10ms);
    const error_code late = held.check();
    co_await held.async_release();
    if (beats_.empty() || late) {
        report.add(
            verdict::broken,
            "heartbeat",
            "None was acknowledged within the TTL of " + std::to_string(ttl_.count()) +
                " ms: no lock can be kept."
        );
        co_return;
    }
    const clock::duration longest = *std::max_element(beats_.begin(), beats_.end());
    const bool fast = longest < ttl_ / 3;
    report.measure("heartbeat_us_max", in_microseconds(longest));
    report.add(
        fast ? verdict::holds : verdict::weak,
        "heartbeat",
        "The longest of " + std::to_string(beats_.size()) + " took " + text_of(longest) +
            (fast ? "." : ": locks may be lost while the store is that slow.")
    );
}

asio::awaitable<void> doctor_probe::stop() {
    co_await second_.async_stop(coro::detail::with_code);
    co_await first_.async_stop(coro::detail::with_code);
}

}  // namespace mortise::tool
