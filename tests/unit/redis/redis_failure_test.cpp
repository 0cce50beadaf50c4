// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_failure.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace mortise::store_detail::redis_failure_test {
namespace {

struct refusal_case {
    std::string_view text;
    errc meaning;
};

// As servers of the versions 6 to 7 say it.
constexpr refusal_case refusal_cases[] = {
    {"NOAUTH Authentication required.", errc::access_denied},
    {"WRONGPASS invalid username-password pair or user is disabled.", errc::access_denied},
    {"NOPERM this user has no permissions to run the 'eval' command", errc::access_denied},
    {"ERR The user executing the script can't run this command or subcommand", errc::access_denied},
    {"ERR AUTH <password> called without any password configured", errc::access_denied},
    {"ERR invalid password", errc::access_denied},
    {"OOM command not allowed when used memory > 'maxmemory'.", errc::store_full},
    {"LOADING Redis is loading the dataset in memory", errc::server_loading},
    {"BUSY Redis is busy running a script.", errc::server_busy},
    {"READONLY You can't write against a read only replica.", errc::read_only_server},
    {"MISCONF Redis is configured to save RDB snapshots", errc::not_writable},
    {"NOREPLICAS Not enough good replicas to write.", errc::not_enough_replicas},
    {"CROSSSLOT Keys in request don't hash to the same slot", errc::wrong_server},
    {"ERR unknown command 'HELLO', with args beginning with: '3'", errc::wrong_server},
    {"NOPROTO unsupported protocol version", errc::wrong_server},
    {"WRONGTYPE Operation against a key", errc::not_a_store},
    {"ERR DB index is out of range", errc::bad_config},
    {"ERR ACL failure in script: User bob has no permissions to run the 'hset' command",
     errc::access_denied},
    // Of scripts at Redis 6.
    {"ERR Error running script (call to f_3c): @user_script:7: @user_script: 7: -READONLY You "
     "can't write against a read only replica.",
     errc::read_only_server},
    {"ERR Error running script (call to f_3c): @user_script:19: @user_script: 19: -OOM command not "
     "allowed when used memory > 'maxmemory'.",
     errc::store_full},
    {"ERR Error running script (call to f_3c): @user_script:7: @user_script: 7: -NOREPLICAS Not "
     "enough good replicas to write.",
     errc::not_enough_replicas},
    {"ERR Error running script (call to f_3c): @user_script:7: @user_script: 7: The user executing "
     "the script can't run this command or subcommand",
     errc::access_denied},
    {"ERR Error running script (call to f_3c): @user_script:4: WRONGTYPE Operation against a key",
     errc::not_a_store},
};

TEST(RedisFailure, OfEachRefusalHasAMeaning) {
    for (const auto& each : refusal_cases)
        EXPECT_EQ(meaning_of_refusal(each.text), each.meaning) << each.text;
}

TEST(RedisFailure, OfARefusalThatNobodyKnowsIsThatTheStoreIsUnavailable) {
    for (const char* unknown :
         {"",
          "ERR",
          "ERR something else",
          "BUSYGROUP Consumer Group name",
          "noauth",
          " NOAUTH",
          "ERR Error running script (call to f_3c)",
          "ERR Error running script (call to f_3c): @user_script:4: attempt to index a nil value",
          "ERR Error running script (call to f_3c): @user_script:",
          "ERR Error running script (call to f_3c): @user_script:4: "})
        EXPECT_EQ(meaning_of_refusal(unknown), errc::store_unavailable) << unknown;
}

TEST(RedisFailure, OfAClusterThatChangesIsThatTheStoreIsUnavailable) {
    for (const char* each :
         {"MOVED 3999 127.0.0.1:6381",
          "ASK 3999 127.0.0.1:6381",
          "TRYAGAIN Multiple keys request during rehashing of slot",
          "CLUSTERDOWN The cluster is down"}) {
        EXPECT_EQ(meaning_of_refusal(each), errc::store_unavailable) << each;
        EXPECT_NE(is_elsewhere(each), is_in_motion(each)) << each;
    }
}

TEST(RedisFailure, HasARemedyOfItsOwnForEachMeaning) {
    const auto general = redis_remedy(errc::store_unavailable);
    EXPECT_NE(general.find("reached"), std::string_view::npos);
    std::set<errc> meanings = {
        errc::untrusted_server,
        errc::unsafe_server,
        errc::newer_format,
        errc::store_corrupt,
    };
    for (const auto& each : refusal_cases)
        meanings.insert(each.meaning);
    for (const errc each : meanings) {
        const auto remedy = redis_remedy(each);
        EXPECT_NE(remedy, general) << make_error_code(each).message();
        EXPECT_NE(remedy.back(), '.') << "a sentence without its end";
    }
}

TEST(RedisFailure, OfProtectedModeSaysWhatToDo) {
    const redis_failure denied(
        meaning_of_refusal("DENIED Redis is running in protected mode because ..."),
        "DENIED Redis is running in protected mode because ..."
    );
    EXPECT_EQ(denied.code, errc::access_denied);
    EXPECT_NE(redis_remedy(denied).find("protected mode"), std::string_view::npos);
    const redis_failure wrong(errc::access_denied, "WRONGPASS invalid username-password pair");
    EXPECT_EQ(redis_remedy(wrong), redis_remedy(errc::access_denied));
}

}  // namespace
}  // namespace mortise::store_detail::redis_failure_test
