// SPDX-License-Identifier: BSL-1.0
#include "core/session_fsm.hpp"
#include "mortise/options.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace mortise::core::session_fsm_test {
namespace {

using namespace std::chrono_literals;
using state = session_fsm::state;

constexpr auto never = clock::time_point::max();
constexpr auto start = clock::time_point(1h);

// ttl 10 s, drift 1%, margin 1 s: sure for 9.9 s, alarm at 8.9 s, heartbeat each 3.333 s.
session_timing ten_seconds() {
    client_config config;
    config.ttl = 10s;
    return session_timing::from(config);
}

TEST(SessionTiming, FollowsFromTtlAndDrift) {
    const auto timing = ten_seconds();
    EXPECT_EQ(timing.ttl, 10s);
    EXPECT_EQ(timing.window, 9'900ms);
    EXPECT_EQ(timing.stop_margin, 1s);
    EXPECT_EQ(timing.beat_every, clock::duration(10s) / 3);
    EXPECT_EQ(timing.retry_every, 500ms);
}

TEST(SessionTiming, TakesAStopMarginThatIsGiven) {
    client_config config;
    config.ttl = 10s;
    config.stop_margin = 3s;
    EXPECT_EQ(session_timing::from(config).stop_margin, 3s);
}

TEST(SessionTiming, TrustsLessOfTheTtlTheMoreTheClocksDrift) {
    client_config config;
    config.ttl = 10s;
    config.clock_drift_ppm = 0;
    EXPECT_EQ(session_timing::from(config).window, 10s);
    config.clock_drift_ppm = 500'000;
    EXPECT_EQ(session_timing::from(config).window, 5s);
}

TEST(SessionFsm, KnowsNothingBeforeItIsOpen) {
    session_fsm fsm(ten_seconds());
    EXPECT_EQ(fsm.at(start), state::none);
    EXPECT_FALSE(fsm.open());
    EXPECT_EQ(fsm.beat_at(), never);
    EXPECT_EQ(fsm.alarm_at(), never);
    EXPECT_FALSE(fsm.take_alarm(start));
    fsm.failed(start);
    fsm.doubt(start, false);
    EXPECT_EQ(fsm.at(start), state::none);
    EXPECT_EQ(fsm.beat_at(), never);
}

TEST(SessionFsm, CountsTheDeadlineFromTheSendingOfTheProof) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    EXPECT_EQ(fsm.verified(), start);
    EXPECT_EQ(fsm.deadline(), start + 9'900ms);
    EXPECT_EQ(fsm.at(start + 9'900ms - 1ns), state::held);
    EXPECT_EQ(fsm.at(start + 9'900ms), state::unsure);
    EXPECT_TRUE(fsm.open());
}

TEST(SessionFsm, IsUnsureAtOnceWhenTheAnswerTookLongerThanTheWindow) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    fsm.proved(start + 5s);  // the answer came 20 s after that
    EXPECT_EQ(fsm.at(start + 25s), state::unsure);
    EXPECT_LE(fsm.beat_at(), start + 25s);
}

TEST(SessionFsm, IsHeldAgainByALaterProof) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    ASSERT_EQ(fsm.at(start + 12s), state::unsure);
    fsm.proved(start + 12s);
    EXPECT_EQ(fsm.at(start + 12s), state::held);
    EXPECT_EQ(fsm.deadline(), start + 21'900ms);
}

TEST(SessionFsm, AnOvertakenProofDoesNotShortenTheWindow) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start + 3s);
    fsm.proved(start);
    EXPECT_EQ(fsm.verified(), start + 3s);
    EXPECT_EQ(fsm.deadline(), start + 12'900ms);
}

TEST(SessionFsm, CountsTheDeadlineFromTheBaseAndTheNextBeatFromTheSending) {
    session_fsm fsm(ten_seconds());
    fsm.proved(proof_of_life(start, std::nullopt));
    const auto first_beat = fsm.beat_at();
    fsm.proved(proof_of_life(start + 3s, start));  // proves the one before it
    EXPECT_EQ(fsm.verified(), start);
    EXPECT_EQ(fsm.deadline(), start + 9'900ms);
    EXPECT_EQ(fsm.beat_at(), first_beat + 3s) << "an old base makes no heartbeat more frequent";
    fsm.proved(proof_of_life(start + 6s, start + 3s));
    EXPECT_EQ(fsm.deadline(), start + 12'900ms);
    EXPECT_LT(fsm.beat_at(), fsm.alarm_at());
}

TEST(SessionFsm, AProofWithAnOlderBaseIsOvertaken) {
    session_fsm fsm(ten_seconds());
    fsm.proved(proof_of_life(start + 6s, start + 5s));
    fsm.proved(proof_of_life(start + 7s, start + 2s));
    EXPECT_EQ(fsm.verified(), start + 5s);
    EXPECT_EQ(fsm.beat_at(), start + 7s + ten_seconds().beat_every) << "it was sent all the same";
    fsm.gone();
    fsm.proved(proof_of_life(start, std::nullopt));  // a new session begins anew
    EXPECT_EQ(fsm.verified(), start);
}

TEST(SessionFsm, RaisesTheAlarmOnceForEachWindowAndBeforeItsEnd) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    EXPECT_LT(fsm.alarm_at(), fsm.deadline());
    EXPECT_FALSE(fsm.take_alarm(start + 8'900ms - 1ns));
    EXPECT_TRUE(fsm.take_alarm(start + 8'900ms));
    EXPECT_FALSE(fsm.take_alarm(start + 9s));
    EXPECT_FALSE(fsm.take_alarm(start + 50s));
    EXPECT_EQ(fsm.alarm_at(), never);

    fsm.proved(start + 50s);
    EXPECT_FALSE(fsm.take_alarm(start + 50s));
    EXPECT_TRUE(fsm.take_alarm(start + 70s));
    EXPECT_FALSE(fsm.take_alarm(start + 70s));
}

TEST(SessionFsm, BeatsBeforeTheAlarmWithTimeForAnotherTry) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    EXPECT_EQ(fsm.beat_at(), start + clock::duration(10s) / 3);
    EXPECT_LT(fsm.beat_at() + ten_seconds().retry_every, fsm.alarm_at());
}

TEST(SessionFsm, TriesAgainSoonAfterAHeartbeatThatFailed) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    fsm.failed(start + 4s);
    EXPECT_EQ(fsm.beat_at(), start + 4'500ms);
    EXPECT_EQ(fsm.deadline(), start + 9'900ms) << "a failure proves nothing, also not a loss";
    EXPECT_EQ(fsm.at(start + 5s), state::held);
}

TEST(SessionFsm, DoubtEndsTheCertaintyNowAndRaisesTheAlarmNow) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    fsm.doubt(start + 2s, false);
    EXPECT_EQ(fsm.at(start + 2s), state::unsure);
    EXPECT_EQ(fsm.beat_at(), start + 2s);
    EXPECT_TRUE(fsm.take_alarm(start + 2s));
    EXPECT_FALSE(fsm.take_alarm(start + 3s));
    fsm.doubt(start + 1s, false);
    EXPECT_LE(fsm.deadline(), start + 1s) << "a doubt never lengthens the window";
}

// A server that was started again gives nobody anything before this window has ended.
TEST(SessionFsm, DoubtWhereOthersWaitEndsTheCertaintyAndLeavesTheAlarmAtItsTime) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    const auto alarm = fsm.alarm_at();
    fsm.doubt(start + 2s, true);
    EXPECT_EQ(fsm.at(start + 2s), state::unsure);
    EXPECT_EQ(fsm.beat_at(), start + 2s);
    EXPECT_EQ(fsm.alarm_at(), alarm);
    EXPECT_FALSE(fsm.take_alarm(start + 3s));
    EXPECT_TRUE(fsm.take_alarm(alarm)) << "no proof came";
    fsm.proved(start + 9s);
    EXPECT_EQ(fsm.at(start + 9s), state::held);
}

TEST(SessionFsm, AnOvertakenProofDoesNotLiftADoubtButTheNextOneDoes) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start + 1s);
    fsm.doubt(start + 2s, false);
    fsm.proved(start);
    EXPECT_EQ(fsm.at(start + 2s), state::unsure);
    fsm.proved(start + 3s);
    EXPECT_EQ(fsm.at(start + 3s), state::held);
}

TEST(SessionFsm, ADoubtDoesNotRaiseASecondAlarmInOneWindow) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    ASSERT_TRUE(fsm.take_alarm(start + 9s));
    fsm.doubt(start + 9'500ms, false);
    EXPECT_FALSE(fsm.take_alarm(start + 9'500ms));
}

TEST(SessionFsm, GoneIsTheEndOfEverything) {
    session_fsm fsm(ten_seconds());
    fsm.proved(start);
    fsm.gone();
    EXPECT_EQ(fsm.at(start), state::none);
    EXPECT_FALSE(fsm.open());
    EXPECT_EQ(fsm.deadline(), clock::time_point::min());
    EXPECT_FALSE(fsm.take_alarm(start + 60s)) << "the loss itself was the news";
    fsm.failed(start + 1s);
    EXPECT_EQ(fsm.beat_at(), never);

    fsm.proved(start - 30min);  // a new session, on a machine whose clock is simulated
    EXPECT_EQ(fsm.at(start - 30min), state::held);
}

// UBSan stops the test at an overflow.
TEST(SessionFsm, SurvivesTheLongestTtlThatIsAllowed) {
    for (const std::uint32_t drift : {0u, 10'000u, 500'000u}) {
        client_config config;
        config.ttl = duration_max;
        config.stop_margin = duration_max / 2;
        config.clock_drift_ppm = drift;
        session_fsm fsm(session_timing::from(config));
        const clock::time_point now(std::chrono::hours(24 * 365));
        fsm.proved(now);
        EXPECT_EQ(fsm.at(now + 24h * 365), state::held);
        EXPECT_GE(fsm.alarm_at(), now);
        fsm.failed(now + 1h);
        fsm.doubt(now + 2h, false);
        EXPECT_EQ(fsm.at(now + 2h), state::unsure);
        fsm.proved(now + 24h * 365 * 10);
        EXPECT_GT(fsm.deadline(), now + 24h * 365 * 10);
    }
}

}  // namespace
}  // namespace mortise::core::session_fsm_test
