// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/session_proof.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::test::session_proof_test {
namespace {

using namespace std::chrono_literals;
using store_detail::session_proof;

constexpr auto spacing = 100ms;

clock::time_point at(std::chrono::milliseconds time) {
    return clock::time_point(time + 1h);
}

/// A heartbeat that is acknowledged 10 ms after its sending. Returns what it proves.
clock::time_point beat(session_proof& proof, std::chrono::milliseconds sent) {
    proof.beat_sent(at(sent));
    return proof.beat_acknowledged(at(sent + 10ms));
}

TEST(SessionProof, AHeartbeatProvesWhatTheOneBeforeItCarried) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    EXPECT_EQ(beat(proof, 1'000ms), at(0ms)) << "the opening";
    EXPECT_EQ(beat(proof, 2'000ms), at(0ms)) << "the first carried nothing newer";
    EXPECT_EQ(beat(proof, 3'000ms), at(1'000ms)) << "the second carried the first";
    EXPECT_EQ(beat(proof, 4'000ms), at(2'000ms));
}

TEST(SessionProof, AReadBeforeAHeartbeatIsCarriedByIt) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    beat(proof, 1'000ms);
    proof.touched(at(1'850ms), at(1'860ms));
    beat(proof, 2'000ms);
    EXPECT_EQ(beat(proof, 3'000ms), at(1'850ms));
}

TEST(SessionProof, AReadThatIsAnsweredTooLateIsNotCarried) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    beat(proof, 1'000ms);
    proof.touched(at(1'850ms), at(1'900ms));
    beat(proof, 2'000ms);
    EXPECT_EQ(beat(proof, 3'000ms), at(1'000ms)) << "not more than the spacing before";
}

TEST(SessionProof, HeartbeatsThatFollowTooSoonCarryWhatTheOneBeforeDid) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    beat(proof, 1'000ms);
    beat(proof, 1'050ms);
    EXPECT_EQ(beat(proof, 1'100ms), at(0ms));
    EXPECT_EQ(beat(proof, 1'150ms), at(0ms)) << "the first of them was answered at 1010 ms";
    EXPECT_EQ(beat(proof, 1'200ms), at(1'000ms));
}

TEST(SessionProof, ALostHeartbeatProvesNothingToTheNext) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    beat(proof, 1'000ms);
    proof.beat_sent(at(2'000ms));  // its answer does not come
    EXPECT_EQ(beat(proof, 3'000ms), at(0ms));
    EXPECT_EQ(beat(proof, 4'000ms), at(1'000ms));
}

TEST(SessionProof, AnotherConnectionBeginsAnew) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    beat(proof, 1'000ms);
    beat(proof, 2'000ms);
    proof.connected(at(2'500ms));
    EXPECT_EQ(beat(proof, 3'000ms), at(2'500ms));
    EXPECT_EQ(beat(proof, 4'000ms), at(2'500ms));
    EXPECT_EQ(beat(proof, 5'000ms), at(3'000ms));
}

TEST(SessionProof, ManyPacketsLeaveAHeartbeatARecentOne) {
    session_proof proof(spacing);
    proof.connected(at(0ms));
    for (auto time = 1'000ms; time < 3'000ms; time += 1ms)
        proof.touched(at(time), at(time + 1ms));
    beat(proof, 3'000ms);
    const auto base = beat(proof, 4'000ms);
    EXPECT_GE(base, at(2'800ms));
    EXPECT_LT(base, at(2'900ms));
}

}  // namespace
}  // namespace mortise::test::session_proof_test
