// SPDX-License-Identifier: BSL-1.0
// Processes that die at one moment: between the commit of an operation and the datagram that
// notifies the next waiter, and in the middle of the commit.

#include "chaos/chaos_test.hpp"
#include "mortise/coro/clock.hpp"
#include "support/machine_delay.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>

namespace mortise::test::crash_point_test {
namespace {

using namespace std::chrono_literals;

using CrashPoint = chaos_test;

// Long enough to keep heartbeats out of what is measured here.
constexpr auto ttl = 12s;

constexpr const char* granted_rows = "SELECT count(*) FROM entry WHERE queued = 0";

TEST_F(CrashPoint, OneThatDiesAfterTheCommitOfItsReleaseIsReplacedByTheNextAtOnce) {
    const auto holder = start(ttl);
    const auto next = start(ttl);
    const auto last = start(ttl);
    const auto token = holder->acquire("door");
    next->tell("acquire door");
    queued("door", 2);
    last->tell("acquire door");
    queued("door", 3);
    holder->tell("trap send");
    ASSERT_TRUE(holder->hear("trap set"));
    // Stop the others: only the release then changes the rows.
    next->send(SIGSTOP);
    last->send(SIGSTOP);
    holder->tell("release door");
    ASSERT_EQ(holder->await_death(), SIGSYS) << "it did not send";
    EXPECT_EQ(sql("SELECT count(*) FROM entry WHERE queued = 0 AND session = 2"), 1)
        << "it died before its commit";
    const machine_delay delay;
    const auto woken = clock::now().time_since_epoch().count();
    next->send(SIGCONT);
    last->send(SIGCONT);
    const auto line = next->hear("held door");
    ASSERT_TRUE(line);
    const double took_ms = static_cast<double>(time_in(*line) - woken) / 1e6;
    RecordProperty("take_over_ms", std::to_string(took_ms));
    EXPECT_LT(took_ms, 1'000 + delay.so_far().count()) << "that was a heartbeat";
    EXPECT_GT(token_in(*line), token);
    next->tell("release door");
    EXPECT_TRUE(last->hear("held door", 2s));
    last->tell("release door");
    for (const auto* each : {&next, &last}) {
        (*each)->tell("stop");
        EXPECT_TRUE((*each)->hear("stopped"));
    }
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(CrashPoint, TheNextOneLearnsOfItAlsoIfOthersWatchedTheDead) {
    const auto holder = start(ttl);
    holder->acquire("door");
    const auto next = start(ttl);
    next->tell("acquire door");
    queued("door", 2);
    // The three sessions before it in the ring watch each session. These three watch the first.
    const auto one = start(ttl);
    const auto other = start(ttl);
    const auto third = start(ttl);
    for (const auto* each : {&one, &other, &third})
        (*each)->acquire(std::to_string((*each)->pid()));
    settle();
    holder->tell("trap send");
    ASSERT_TRUE(holder->hear("trap set"));
    holder->tell("release door");
    ASSERT_EQ(holder->await_death(), SIGSYS) << "it did not send";
    EXPECT_TRUE(next->hear("held door", 1s)) << "it had to wait for a heartbeat";
    EXPECT_EQ(sql("SELECT count(*) FROM session"), 4);
}

TEST_F(CrashPoint, OneThatDiesAfterTheCommitOfItsWithdrawalHoldsUpNobody) {
    const auto reader = start(ttl);
    const auto writer = start(ttl);
    const auto later = start(ttl);
    reader->tell("acquire door shared");
    const auto held = reader->hear("held door");
    ASSERT_TRUE(held);
    writer->tell("acquire door");
    queued("door", 2);
    later->tell("acquire door shared");  // waits: a writer is before it
    queued("door", 3);
    writer->tell("trap send");
    ASSERT_TRUE(writer->hear("trap set"));
    reader->send(SIGSTOP);
    later->send(SIGSTOP);
    writer->tell("withdraw door");
    ASSERT_EQ(writer->await_death(), SIGSYS) << "it did not send";
    EXPECT_EQ(sql(granted_rows), 2) << "it died before its commit";
    const machine_delay delay;
    const auto woken = clock::now().time_since_epoch().count();
    reader->send(SIGCONT);
    later->send(SIGCONT);
    const auto line = later->hear("held door");
    ASSERT_TRUE(line);
    const double took_ms = static_cast<double>(time_in(*line) - woken) / 1e6;
    RecordProperty("take_over_ms", std::to_string(took_ms));
    EXPECT_LT(took_ms, 1'000 + delay.so_far().count()) << "that was a heartbeat";
    EXPECT_EQ(token_in(*line), token_in(*held)) << "one phase of readers";
    for (const auto* each : {&reader, &later}) {
        (*each)->tell("stop");
        EXPECT_TRUE((*each)->hear("stopped"));
    }
    EXPECT_TRUE(nothing_is_left());
}

TEST_F(CrashPoint, OneThatDiesInWhateverWriteOfItsReleaseIsReplacedByTheNextAtOnce) {
    std::uint64_t last = 0;
    int deaths = 0;
    for (int write = 1; write <= 64; ++write) {
        const auto holder = start(ttl);
        const auto next = start(ttl);
        const auto token = holder->acquire("door");
        EXPECT_GT(token, last);
        next->tell("acquire door");
        queued("door", 2);
        holder->tell("trap kill " + std::to_string(write));
        ASSERT_TRUE(holder->hear("trap set"));
        holder->tell("release door");
        const auto line = next->hear("held door", 2s);
        ASSERT_TRUE(line) << "after a death in write " << write;
        last = token_in(*line);
        EXPECT_GT(last, token);
        next->tell("stop");
        EXPECT_TRUE(next->hear("stopped"));
        if (holder->hear("released door", 300ms)) {
            RecordProperty("writes", write - 1);
            EXPECT_GT(deaths, 2) << "a release does not write as often as it did";
            return;
        }
        EXPECT_EQ(holder->await_death(), SIGKILL);
        ++deaths;
        EXPECT_TRUE(nothing_is_left());
    }
    ADD_FAILURE() << "the release has no end";
}

}  // namespace
}  // namespace mortise::test::crash_point_test
