// SPDX-License-Identifier: BSL-1.0
#include "core/session_rules.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace mortise::core::session_rules_test {
namespace {

using namespace std::chrono_literals;

constexpr auto now = clock::time_point(1h);
constexpr auto epoch = clock::time_point();
constexpr auto never = clock::time_point::max();

TEST(SessionRules, SayWhoMayActAndWhatBecomesOfAResume) {
    struct row {
        const char* situation;
        std::optional<session_terms> known;
        std::uint64_t generation;
        bool acts;
        resumption resumes;
    };
    const session_terms alive{3, now + 1ns};
    const session_terms over{3, now};
    const row table[] = {
        {"nobody knows it, first connection", std::nullopt, 1, false, resumption::begins},
        {"nobody knows it any longer", std::nullopt, 2, false, resumption::refused},
        {"alive, the connection that acts", alive, 3, true, resumption::goes_on},
        {"alive, a newer connection", alive, 4, true, resumption::goes_on},
        {"alive, an older connection", alive, 2, false, resumption::refused},
        {"alive, the first one is older, too", alive, 1, false, resumption::refused},
        {"over, the connection that acts", over, 3, false, resumption::refused},
        {"over, a newer connection", over, 4, false, resumption::refused},
        {"over, it does not begin again", {{1, now}}, 1, false, resumption::refused},
        {"its first resume is repeated", {{1, now + 1s}}, 1, true, resumption::goes_on},
    };
    for (const row& each : table) {
        SCOPED_TRACE(each.situation);
        EXPECT_EQ(each.known && may_act(*each.known, each.generation, now), each.acts);
        EXPECT_EQ(judge_resume(each.known, each.generation, now), each.resumes);
    }
}

TEST(SessionRules, ASessionLivesUntilItsDeadlineAndNotAtIt) {
    EXPECT_FALSE(is_over(now + 1ns, now));
    EXPECT_TRUE(is_over(now, now));
    EXPECT_TRUE(is_over(now - 1h, now));
    EXPECT_FALSE(is_over(never, now));
    EXPECT_EQ(deadline_after(now, 5s), now + 5s);
    EXPECT_EQ(deadline_after(now, std::chrono::milliseconds::max()), never);
}

TEST(SessionRules, AQuarantineLastsAsLongAsAForgottenHolderMayBelieve) {
    struct row {
        const char* situation;
        clock::time_point believed_until;
        clock::duration longest;
        clock::time_point end;
    };
    const row table[] = {
        {"somebody believes in a lease", now + 3s, 5s, now + 3s},
        {"the last one has just stopped to", now, 5s, epoch},
        {"nobody has for long", now - 1h, 5s, epoch},
        {"nobody is known", epoch, 5s, epoch},
        {"the time is further away than any TTL", now + 1h, 5s, now + 5s},
        {"the longest TTL has no end", now + 3s, clock::duration::max(), now + 3s},
    };
    for (const row& each : table) {
        SCOPED_TRACE(each.situation);
        EXPECT_EQ(quarantine_end(each.believed_until, each.longest, now), each.end);
    }
    EXPECT_EQ(quarantine_left(now + 3s, now), 3s);
    EXPECT_EQ(quarantine_left(now, now), 0s);
    EXPECT_EQ(quarantine_left(epoch, now), 0s);
}

TEST(SessionRules, TheNextDeadlineIsTheFirstOfAll) {
    next_deadline none(now);
    EXPECT_EQ(none.left(), std::nullopt);
    none.consider(never);
    EXPECT_EQ(none.left(), std::nullopt) << "never is no moment";
    next_deadline some(now);
    some.consider(now + 5s);
    some.consider(now + 3s);
    some.consider(now + 4s);
    EXPECT_EQ(some.left(), clock::duration(3s));
    some.consider(now - 1s);
    EXPECT_EQ(some.left(), clock::duration(-1s)) << "it is due";
}

}  // namespace
}  // namespace mortise::core::session_rules_test
