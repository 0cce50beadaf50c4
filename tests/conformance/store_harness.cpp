// SPDX-License-Identifier: BSL-1.0
#include "conformance/store_harness.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <exception>
#include <utility>

namespace mortise::test {
namespace {

void fail_without_ability() {
    ADD_FAILURE() << "this harness cannot bring about that fault: see its abilities";
}

}  // namespace

void store_harness::lose_replies(std::size_t) {
    fail_without_ability();
}

void store_harness::lose_pushes(std::size_t) {
    fail_without_ability();
}

bool store_harness::wanted(const std::string&) {
    fail_without_ability();
    return false;
}

void store_harness::restart(bool) {
    fail_without_ability();
}

void store_harness::silence(bool) {
    fail_without_ability();
}

void store_harness::spoil(std::size_t, sim::fate) {
    fail_without_ability();
}

void store_harness::pass(clock::duration span) {
    const auto end = time()->now() + span;
    run_until([&] { return time()->now() >= end; }, span + std::chrono::seconds(1));
}

bool store_harness::is_by_delay(error_code code) const {
    return !simulates_time() &&
           (code == errc::outcome_unknown || code == errc::store_unavailable ||
            code == errc::session_lost || code == errc::lease_lost || code == errc::lease_expired);
}

// A look at a server takes longer than many handlers of the clients, who have to send heartbeats:
// they get most of the time.
bool store_harness::residue_becomes(std::size_t count, clock::duration limit) {
    constexpr int share = 4;
    bool same = false;
    auto next = time()->now();
    const auto there = [&] {
        const auto begin = time()->now();
        if (same || begin < next)
            return same;
        same = residue() == count;
        const auto end = time()->now();
        next = end + share * (end - begin);
        return same;
    };
    return run_until(there, limit) || residue() == count;
}

void store_harness::run(asio::awaitable<void> task) {
    bool done = false;
    std::exception_ptr failure;
    asio::co_spawn(asio::make_strand(executor()), std::move(task), [&](std::exception_ptr thrown) {
        done = true;
        failure = std::move(thrown);
    });
    // Only a failing test waits for so long: a walk takes a minute at a server on a busy machine.
    ASSERT_TRUE(run_until([&] { return done; }, std::chrono::seconds(200)))
        << "the test's coroutine did not end";
    if (failure)
        std::rethrow_exception(failure);
}

}  // namespace mortise::test
