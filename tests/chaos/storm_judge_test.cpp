// SPDX-License-Identifier: BSL-1.0
// The judge of the storm must find what must never happen, and nothing else.

#include "mortise/lock_mode.hpp"
#include "storm/judge.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mortise::storm {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t ms = 1'000'000;

/// A lease that said "held" from one moment to another, in milliseconds, each of a different
/// process.
record lease_of(std::uint32_t process, std::int64_t from, std::int64_t until, std::uint64_t token) {
    record result;
    result.process = process;
    result.asked = 1 * ms;
    result.granted = result.first_ask = result.held_from = from * ms;
    result.held_until = until * ms;
    result.let_go = result.ended = until * ms;
    result.token = token;
    result.end = ending::released;
    return result;
}

record in_mode(record of, lock_mode mode, std::uint32_t slot = 0) {
    of.mode = static_cast<std::uint8_t>(mode.type());
    of.slot = slot;
    return of;
}

judgement judged(const std::vector<record>& logs, const std::vector<blow>& blows = {}) {
    return judge(logs, blows, 1s);
}

TEST(StormJudge, FindsNothingInAnOrderlyLogWhateverItsOrder) {
    const auto found =
        judged({lease_of(2, 30, 40, 6), lease_of(1, 10, 20, 5), lease_of(1, 50, 60, 7)});
    EXPECT_EQ(found.grants, 3u);
    EXPECT_EQ(found.overlaps, 0u);
    EXPECT_EQ(found.falling_tokens, 0u);
    EXPECT_EQ(found.first_finding, "");
}

TEST(StormJudge, SeesThatTwoHeldAtOnceAlsoIfOneOfThemWasKilled) {
    EXPECT_EQ(judged({lease_of(1, 10, 31, 5), lease_of(2, 30, 40, 6)}).overlaps, 1u);
    record killed = lease_of(1, 10, 31, 5);
    killed.let_go = killed.ended = 0;
    killed.end = ending::holding;
    const auto found = judged({killed, lease_of(2, 30, 40, 6)});
    EXPECT_EQ(found.overlaps, 1u);
    EXPECT_EQ(found.cut_off, 1u);
    EXPECT_NE(found.first_finding.find("process 2"), std::string::npos) << found.first_finding;
    // A long lease overlaps with each lease that came and went meanwhile.
    EXPECT_EQ(
        judged({lease_of(1, 10, 99, 5), lease_of(2, 20, 30, 6), lease_of(3, 40, 50, 7)}).overlaps,
        2u
    );
}

TEST(StormJudge, AStoppedHolderHeldUntilItsLeaseSaidSoForTheLastTime) {
    record stopped = lease_of(1, 10, 12, 5);
    stopped.let_go = stopped.ended = 3'000 * ms;  // it resumed, asked, and learned of the loss
    stopped.end = ending::lost;
    EXPECT_EQ(judged({stopped, lease_of(2, 1'500, 1'600, 6)}).overlaps, 0u);
    stopped.held_until = 2'999 * ms;  // it was told that it still held the lock
    EXPECT_EQ(judged({stopped, lease_of(2, 1'500, 1'600, 6)}).overlaps, 1u);
}

TEST(StormJudge, KnowsWhatGoesTogether) {
    const auto one = lease_of(1, 10, 30, 5);
    const auto other = lease_of(2, 20, 40, 5);
    const auto later = lease_of(2, 20, 40, 6);
    const auto reader = lock_mode::shared();
    const auto guest = lock_mode::permits(3);
    EXPECT_EQ(judged({in_mode(one, reader), in_mode(other, reader)}).overlaps, 0u);
    EXPECT_EQ(judged({in_mode(one, reader), later}).overlaps, 1u);
    EXPECT_EQ(judged({in_mode(one, guest, 1), in_mode(other, guest, 2)}).overlaps, 0u);
    EXPECT_EQ(judged({in_mode(one, guest, 1), in_mode(later, guest, 1)}).overlaps, 1u);
    EXPECT_EQ(judged({in_mode(one, guest, 1), in_mode(later, reader)}).overlaps, 1u);
    record elsewhere = later;
    elsewhere.lock = 1;
    EXPECT_EQ(judged({one, elsewhere}).overlaps, 0u);
}

TEST(StormJudge, SeesTokensThatFallOrRepeat) {
    const auto falling = [](std::uint64_t second, std::uint64_t third) {
        const auto found =
            judged({lease_of(1, 10, 20, 5), lease_of(2, 30, 40, second), lease_of(3, 50, 60, third)}
            );
        return found.falling_tokens;
    };
    EXPECT_EQ(falling(6, 7), 0u);
    EXPECT_EQ(falling(5, 6), 1u);
    EXPECT_EQ(falling(4, 6), 1u);
    EXPECT_EQ(falling(9, 8), 1u);
    EXPECT_EQ(falling(3, 4), 2u);  // both are below the first
}

TEST(StormJudge, ReadersOfOnePhaseShareATokenAndSlotsHaveTheirOwn) {
    const auto reader = lock_mode::shared();
    const auto guest = lock_mode::permits(3);
    const auto one = lease_of(1, 10, 20, 5);
    const auto same = lease_of(2, 30, 40, 5);
    const auto less = lease_of(2, 30, 40, 4);
    EXPECT_EQ(judged({in_mode(one, reader), in_mode(same, reader)}).falling_tokens, 0u);
    EXPECT_EQ(judged({in_mode(one, reader), in_mode(less, reader)}).falling_tokens, 1u);
    EXPECT_EQ(judged({in_mode(one, reader), same}).falling_tokens, 1u);
    EXPECT_EQ(judged({in_mode(one, guest, 1), in_mode(less, guest, 2)}).falling_tokens, 0u);
    EXPECT_EQ(judged({in_mode(one, guest, 1), in_mode(less, guest, 1)}).falling_tokens, 1u);
}

TEST(StormJudge, SeesALeaseThatSaysHeldThoughTheFenceRefusedIt) {
    record late = lease_of(1, 10, 20, 5);
    late.held_though_refused = true;
    EXPECT_EQ(judged({late}).held_though_refused, 1u);
    EXPECT_NE(judged({late}).first_finding, "");
}

TEST(StormJudge, MeasuresHandOffsOnlyWhereNothingHappenedToWhoWaited) {
    const std::vector<record> logs{lease_of(1, 10, 20, 5), lease_of(2, 23, 40, 6)};
    EXPECT_EQ(judged(logs).hand_off.count, 1u);
    EXPECT_DOUBLE_EQ(judged(logs).hand_off.max_ms, 3);
    blow stop;
    stop.type = blow::kind::stop;
    stop.process = 2;
    stop.from = 21 * ms;
    stop.until = 22 * ms;
    EXPECT_EQ(judged(logs, {stop}).hand_off.count, 0u);
    stop.process = 3;  // does not use this lock
    EXPECT_EQ(judged(logs, {stop}).hand_off.count, 1u);
    stop.inside = true;  // but the store stood still
    EXPECT_EQ(judged(logs, {stop}).hand_off.count, 0u);
    auto late = logs;
    late[1].asked = 21 * ms;  // it did not wait
    EXPECT_EQ(judged(late).hand_off.count, 0u);
}

TEST(StormJudge, MeasuresTakeOversFromTheBlow) {
    record first = lease_of(1, 10, 20, 5);
    first.let_go = first.ended = 0;
    first.end = ending::holding;
    blow strike;
    strike.process = 1;
    strike.from = 21 * ms;
    strike.until = 22 * ms;
    EXPECT_DOUBLE_EQ(judged({first, lease_of(2, 25, 40, 6)}, {strike}).after_kill.max_ms, 4);
    strike.type = blow::kind::stop;
    EXPECT_EQ(judged({first, lease_of(2, 25, 40, 6)}, {strike}).after_stop.count, 0u);
    strike.until = 2'000 * ms;  // longer than the TTL
    EXPECT_DOUBLE_EQ(
        judged({first, lease_of(2, 1'021, 1'040, 6)}, {strike}).after_stop.max_ms, 1'000
    );
}

TEST(StormJudge, RecordsThatNobodyCameToWriteAreNone) {
    EXPECT_EQ(judged({record(), lease_of(1, 10, 20, 5)}).cut_off, 0u);
}

}  // namespace
}  // namespace mortise::storm
