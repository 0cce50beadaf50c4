// SPDX-License-Identifier: BSL-1.0
#include "mortise/fencing_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

namespace mortise::fencing_gate_test {
namespace {

fencing_token token(std::uint64_t value, std::string_view domain = "shop") {
    return {value, token_domain::parse(domain).value_or(token_domain())};
}

TEST(FencingToken, IsEmptyIfAndOnlyIfItsValueIsZero) {
    EXPECT_FALSE(fencing_token());
    EXPECT_FALSE(token(0));
    EXPECT_TRUE(token(1));
    EXPECT_EQ(token((5u << fencing_token::sequence_bits) + 3).base(), 5u);
    EXPECT_EQ(token(7), token(7));
    EXPECT_NE(token(7), token(7, "other"));
}

TEST(FencingGate, AdmitsTokensThatNeverGoDown) {
    fencing_gate gate;
    EXPECT_EQ(gate.admit(token(5)), error_code());
    EXPECT_EQ(gate.admit(token(5)), error_code()) << "one holder may come as often as it likes";
    EXPECT_EQ(gate.admit(token(9)), error_code());
    EXPECT_EQ(gate.admit(token(8)), errc::stale_token);
    EXPECT_EQ(gate.admit(token(9)), error_code()) << "a refusal changes nothing";
    EXPECT_EQ(gate.highest(), token(9));
}

TEST(FencingGate, RefusesAnEmptyToken) {
    fencing_gate gate;
    EXPECT_EQ(gate.admit(fencing_token()), errc::no_token);
    EXPECT_EQ(gate.admit(token(0)), errc::no_token);
    EXPECT_EQ(gate.admit(token(std::uint64_t{1} << 63)), errc::no_token) << "above all tokens";
    EXPECT_FALSE(gate.highest());
}

TEST(FencingGate, TakesTheDomainOfTheFirstTokenAndRefusesOthers) {
    fencing_gate gate;
    ASSERT_EQ(gate.admit(token(5)), error_code());
    EXPECT_EQ(gate.admit(token(6, "other")), errc::foreign_domain);
    EXPECT_EQ(gate.admit(token(4, "other")), errc::foreign_domain) << "it has no order here";
    EXPECT_EQ(gate.highest(), token(5));
}

TEST(FencingGate, TakesOnlyTheDomainThatItWasMadeFor) {
    fencing_gate gate(*token_domain::parse("shop"));
    EXPECT_FALSE(gate.highest());
    EXPECT_EQ(gate.admit(token(5, "other")), errc::foreign_domain);
    EXPECT_EQ(gate.admit(token(1)), error_code());
}

// No grant gives such a token; if one opened the gate, tokens of any domain would pass after it.
TEST(FencingGate, RefusesATokenThatComesFromNowhere) {
    fencing_gate gate;
    EXPECT_EQ(gate.admit(fencing_token{5, {}}), errc::no_token);
    EXPECT_EQ(gate.admit(token(1)), error_code());
    EXPECT_EQ(gate.admit(fencing_token{5, {}}), errc::no_token);
}

// Of the threads that come at one moment the highest wins, and nobody below it gets in afterwards.
TEST(FencingGate, NeverGoesDownWhenFourThreadsComeAtOnce) {
    constexpr std::uint64_t rounds = 4'000;
    fencing_gate gate;
    std::atomic<int> faults = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t offset = 1; offset <= 4; ++offset) {
        threads.emplace_back([&, offset] {
            std::uint64_t seen = 0;
            for (std::uint64_t round = 0; round < rounds; ++round) {
                const std::uint64_t own = round * 4 + offset;
                const error_code code = gate.admit(token(own));
                const std::uint64_t highest = gate.highest().value;
                const bool consistent =
                    code ? code == errc::stale_token && highest > own : highest >= own;
                faults += !consistent || highest < seen ? 1 : 0;
                seen = highest;
            }
        });
    }
    for (auto& each : threads)
        each.join();
    EXPECT_EQ(faults, 0);
    EXPECT_EQ(gate.highest(), token(rounds * 4));
}

}  // namespace
}  // namespace mortise::fencing_gate_test
