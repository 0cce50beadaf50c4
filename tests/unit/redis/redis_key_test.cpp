// SPDX-License-Identifier: BSL-1.0
// The single-key form among clients of other makes, for which a raw connection stands.
#include "mortise/fence/redis.hpp"
#include "mortise/fencing_gate.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test::redis_key_test {
namespace {

using namespace std::chrono_literals;

constexpr auto key_ttl = 600ms;

// As the documentation of Redis has it.
constexpr const char* compare_and_delete =
    "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) "
    "else return 0 end";

redis_store_config key_config(const redis_server& server) {
    redis_store_config config;
    config.server.port = server.port();
    config.form = redis_form::single_key;
    return config;
}

/// A server of the test's own, since the keys have no prefix.
class RedisKeyForm : public testing::Test {
protected:
    bool set_by_another(const std::string& key, const std::string& value, int ms) {
        const auto reply = other_.command({"SET", key, value, "NX", "PX", std::to_string(ms)});
        return reply.text == "OK";
    }

    std::int64_t listeners(const std::string& key) {
        return other_.command({"PUBSUB", "NUMSUB", "mortise:released:" + key}).items.at(1).number;
    }

    std::int64_t keys() { return other_.command({"DBSIZE"}).number; }

    /// Expects an empty server when nobody holds or waits any longer.
    void expect_nothing_left(std::int64_t but = 0) {
        EXPECT_EQ(keys(), but);
        EXPECT_TRUE(eventually([&] {
            return other_.command({"PUBSUB", "CHANNELS"}).items.empty();
        }));
    }

    template <class T>
    static T answer_of(std::future<T> asked) {
        EXPECT_EQ(asked.wait_for(10s), std::future_status::ready);
        return asked.get();
    }

    const redis_server server_;
    raw_redis other_ = server_.connect();
};

TEST_F(RedisKeyForm, MeetsOtherClientsAtTheKeyOfTheName) {
    redis_user user(key_config(server_));
    ASSERT_TRUE(set_by_another("resource", "a-random-value", 30'000));
    EXPECT_EQ(user.acquire("resource", 0ms).code, errc::busy);
    EXPECT_EQ(other_.command({"EVAL", compare_and_delete, "1", "resource", "x"}).number, 0);
    EXPECT_EQ(user.acquire("resource", 0ms).code, errc::busy);
    EXPECT_EQ(
        other_.command({"EVAL", compare_and_delete, "1", "resource", "a-random-value"}).number, 1
    );
    auto ours = user.acquire("resource", 0ms);
    ASSERT_FALSE(ours.code) << ours.code.message();
    EXPECT_FALSE(set_by_another("resource", "another-value", 30'000));
    const auto value = other_.command({"GET", "resource"}).text;
    EXPECT_EQ(value.size(), 40u);
    EXPECT_EQ(value.find_first_not_of("0123456789abcdef"), std::string::npos) << value;
    const auto left = other_.command({"PTTL", "resource"}).number;
    EXPECT_TRUE(left > 0 && left <= key_ttl.count()) << left;
    EXPECT_FALSE(user.release(ours.held));
    EXPECT_TRUE(set_by_another("resource", "another-value", 30'000));
    EXPECT_EQ(other_.command({"DEL", "resource"}).number, 1);
    expect_nothing_left();
}

TEST_F(RedisKeyForm, LeavesAloneWhatAnotherHasTaken) {
    redis_user user(key_config(server_), 30s);
    auto ours = user.acquire("resource");
    ASSERT_FALSE(ours.code);
    other_.command({"DEL", "resource"});
    ASSERT_TRUE(set_by_another("resource", "stolen", 30'000));
    EXPECT_EQ(user.release(ours.held), errc::lease_lost);
    EXPECT_EQ(other_.command({"GET", "resource"}).text, "stolen");
}

TEST_F(RedisKeyForm, TakesTwoCommandsForALockAndItsRelease) {
    redis_user user(key_config(server_), 30s);
    auto first = user.acquire("resource");
    EXPECT_FALSE(user.release(first.held));
    other_.command({"CONFIG", "RESETSTAT"});
    constexpr int rounds = 20;
    for (int i = 0; i < rounds; ++i) {
        auto again = user.acquire("resource");
        ASSERT_FALSE(again.code);
        EXPECT_TRUE(other_.command({"PUBSUB", "CHANNELS"}).items.empty()) << "it was free";
        EXPECT_FALSE(user.release(again.held));
    }
    EXPECT_EQ(other_.calls("set"), 20u);
    EXPECT_EQ(other_.calls("evalsha"), 20u);
    EXPECT_EQ(other_.calls("subscribe"), 0u);
}

TEST_F(RedisKeyForm, AWaiterIsWokenByAPublish) {
    redis_user user(key_config(server_));
    ASSERT_TRUE(set_by_another("resource", "theirs", 60'000));
    auto asked = user.ask("resource");
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    other_.command({"DEL", "resource"});
    const auto published_at = clock::now();
    other_.command({"PUBLISH", "mortise:released:resource", ""});
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_LT(got.at - published_at, 2s);
    EXPECT_TRUE(eventually([&] { return listeners("resource") == 0; })) << "nobody waits";
    EXPECT_FALSE(user.release(got.held));
    expect_nothing_left();
}

TEST_F(RedisKeyForm, AWaiterComesWhenTheKeyOfTheHolderPassesAndDoesNotPoll) {
    redis_user user(key_config(server_));
    const machine_delay delay;
    const auto set = clock::now();  // at the latest
    ASSERT_TRUE(set_by_another("resource", "theirs", 1'500));
    auto asked = user.ask("resource");
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    EXPECT_TRUE(eventually([&] { return clock::now() - set > 100ms; }));
    other_.command({"CONFIG", "RESETSTAT"});
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_GE(got.at - set, 1'490ms);
    EXPECT_LE(got.at - set, 1'600ms + delay.so_far());
    EXPECT_LE(other_.calls("set"), 2u) << "one attempt, or one more at a clock's edge";
    EXPECT_FALSE(user.release(got.held));
    expect_nothing_left();
}

TEST_F(RedisKeyForm, AKeyWithoutAnEndIsReadAgainAtTheBeatOfTheSession) {
    redis_user user(key_config(server_));
    other_.command({"SET", "resource", "for ever"});
    auto asked = user.ask("resource");
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    const machine_delay delay;
    const auto deleted = clock::now();
    other_.command({"DEL", "resource"});
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_LT(got.at - deleted, key_ttl / 3 + 100ms + delay.so_far());
    EXPECT_FALSE(user.release(got.held));
}

TEST_F(RedisKeyForm, WaitersOfTwoClientsAreServedOneAfterTheOther) {
    redis_user first(key_config(server_));
    redis_user second(key_config(server_));
    auto held = first.acquire("resource");
    auto asked = second.ask("resource");
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    EXPECT_TRUE(eventually([&] { return held.held.contended(); })) << "told by the heartbeat";
    EXPECT_FALSE(first.release(held.held));
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code);
    auto again = first.ask("resource");
    EXPECT_EQ(again.wait_for(50ms), std::future_status::timeout);
    EXPECT_FALSE(second.release(got.held));
    auto last = outcome_of(again);
    EXPECT_FALSE(last.code);
    EXPECT_FALSE(first.release(last.held));
    expect_nothing_left();
}

TEST_F(RedisKeyForm, AReleaseIsHeardAfterTheConnectionOfTheSubscriptionsWasLost) {
    redis_user user(key_config(server_));
    ASSERT_TRUE(set_by_another("resource", "theirs", 60'000));
    auto asked = user.ask("resource");
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    EXPECT_EQ(other_.command({"CLIENT", "KILL", "TYPE", "pubsub"}).number, 1);
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; })) << "listens anew";
    other_.command({"DEL", "resource"});
    other_.command({"PUBLISH", "mortise:released:resource", ""});
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code);
    EXPECT_FALSE(user.release(got.held));
}

// Both ends believe in it, and nothing comes through: without a question nobody would notice before
// the key of the holder expires.
TEST_F(RedisKeyForm, AConnectionOfTheSubscriptionsThatIsDeadIsNoticed) {
    proxy_thread proxy(server_.port());
    auto config = key_config(server_);
    config.server.port = proxy.port();
    redis_user user(config, 60s);
    ASSERT_TRUE(set_by_another("resource", "theirs", 60'000));
    auto asked = user.ask("resource", 40s);
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    proxy.run([](redis_proxy& each) {
        each.decide([last = each.connections()](const proxied_message& message) {
            const bool dead = message.connection == last;
            return proxy_deed::of(dead ? proxy_deed::kind::stall : proxy_deed::kind::pass);
        });
    });
    const machine_delay delay;
    const auto deleted = clock::now();
    other_.command({"DEL", "resource"});
    other_.command({"PUBLISH", "mortise:released:resource", ""});
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code) << got.code.message();
    EXPECT_LT(got.at - deleted, 5s + delay.so_far()) << "asked after 2 s, left after 2 s more";
    EXPECT_FALSE(user.release(got.held));
}

TEST_F(RedisKeyForm, GivesNoTokensAndNoFenceIsDeceived) {
    redis_user user(key_config(server_));
    auto ours = user.acquire("resource");
    ASSERT_FALSE(ours.code);
    EXPECT_EQ(user.client().traits().strength, token_strength::absent);
    EXPECT_FALSE(ours.held.token());
    fencing_gate gate;
    EXPECT_EQ(gate.admit(ours.held.token()), errc::no_token);
    const redis_fence fence("fence:resource");
    try {
        fence.raise(ours.held.token());
        ADD_FAILURE() << "there is no token";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::no_token);
    }
    EXPECT_FALSE(user.release(ours.held));
}

TEST_F(RedisKeyForm, WithTokensTheyGrowOverAFlushAndOneKeyStays) {
    auto config = key_config(server_);
    config.tokens = true;
    config.domain = "shop";
    std::uint64_t last = 0;
    for (int round = 0; round < 3; ++round) {
        redis_user user(config);
        for (const char* name : {"resource", "other"}) {
            auto ours = user.acquire(name);
            ASSERT_FALSE(ours.code) << ours.code.message() << user.explain();
            EXPECT_EQ(ours.held.token().domain.name(), "shop");
            EXPECT_GT(ours.held.token().value, last);
            last = ours.held.token().value;
            EXPECT_FALSE(set_by_another(name, "theirs", 1'000));
            EXPECT_FALSE(user.release(ours.held));
        }
        EXPECT_EQ(user.acquire("mortise:tokens").code, errc::unsupported);
        expect_nothing_left(1);
        other_.command({"FLUSHALL"});
    }
}

TEST_F(RedisKeyForm, ShowsWhoIsThereAndBreaksWhatWasSeen) {
    redis_user user(key_config(server_));
    ASSERT_TRUE(set_by_another("resource", "a-worker-in-python", 60'000));
    auto seen = answer_of(user.client().async_inspect("resource", 10, asio::use_future));
    ASSERT_TRUE(seen && seen->holders.size() == 1);
    EXPECT_EQ(seen->holders[0].label, "a-worker-in-python");
    auto asked = user.ask("resource");
    ASSERT_TRUE(eventually([&] { return listeners("resource") == 1; }));
    auto wrong = seen->holders[0].token;
    wrong.value += 1u << fencing_token::sequence_bits;
    EXPECT_FALSE(answer_of(user.client().async_break("resource", wrong, "a test", asio::use_future))
    );
    EXPECT_TRUE(answer_of(
        user.client().async_break("resource", seen->holders[0].token, "a test", asio::use_future)
    ));
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code);
    seen = answer_of(user.client().async_inspect("resource", 10, asio::use_future));
    ASSERT_TRUE(seen && seen->holders.size() == 1);
    EXPECT_NE(seen->holders[0].pid, 0) << "one's own are known";
    EXPECT_FALSE(user.release(got.held));
}

TEST_F(RedisKeyForm, SaysWhatToDoForWhatItCannot) {
    redis_user user(key_config(server_));
    const auto held = user.acquire("other");  // There is a session.
    auto listing = user.client().async_list("", 10, 10, asio::use_future);
    EXPECT_THROW(listing.get(), boost::system::system_error);
    EXPECT_NE(user.explain().find("prefix"), std::string::npos) << user.explain();
    auto breaks = user.client().async_breaks("", 10, asio::use_future);
    EXPECT_THROW(breaks.get(), boost::system::system_error);
    EXPECT_NE(user.explain().find("queue form"), std::string::npos) << user.explain();
    auto watching = user.client().async_watch(asio::use_future);
    EXPECT_THROW(watching.get(), boost::system::system_error);
    lock_options shared;
    shared.mode = lock_mode::shared();
    auto sharing = user.client().async_acquire("resource", shared, asio::use_future);
    EXPECT_THROW(static_cast<void>(sharing.get()), boost::system::system_error);
}

TEST_F(RedisKeyForm, TheRightsThatTheManualListsAreEnough) {
    const std::string rights =
        "ACL SETUSER shop on >secret ~shop:* &mortise:released:shop:* +set +get +del +pexpire "
        "+pttl "
        "+time +scan +eval +evalsha +publish +subscribe +unsubscribe +pubsub +info +config|get "
        "+client|tracking +client|setname +hello +auth +select +ping";
    std::istringstream words(rights);
    other_.command({std::istream_iterator<std::string>(words), {}});
    auto config = key_config(server_);
    config.user = "shop";
    config.password = "secret";
    config.prefix = "shop:";
    config.tokens = true;
    redis_user user(config);
    redis_user second(config);
    auto first = user.acquire("door");
    ASSERT_FALSE(first.code) << first.code.message() << ": " << user.explain();
    auto asked = second.ask("door");
    ASSERT_TRUE(eventually([&] { return listeners("shop:door") == 1; })) << second.explain();
    EXPECT_TRUE(eventually([&] { return first.held.contended(); }));
    EXPECT_EQ(answer_of(user.client().async_list("", 10, 10, asio::use_future)).size(), 1u);
    EXPECT_FALSE(user.release(first.held));
    auto got = outcome_of(asked);
    EXPECT_FALSE(got.code);
    EXPECT_FALSE(second.release(got.held));
    EXPECT_EQ(user.explain() + second.explain(), "") << "nothing was refused";
}

TEST_F(RedisKeyForm, ListsWhatBeginsWithItsPrefixAndNothingElse) {
    auto config = key_config(server_);
    config.prefix = "a[b]*:";
    redis_user user(config);
    std::vector<lease> held;
    for (const char* name : {"c", "a", "b"})
        held.push_back(user.acquire(name).held);
    ASSERT_TRUE(set_by_another("ab:x", "theirs", 60'000));
    ASSERT_TRUE(set_by_another("a[b]*:d", "theirs", 60'000));
    const auto page = answer_of(user.client().async_list("a", 2, 10, asio::use_future));
    ASSERT_EQ(page.size(), 2u);
    EXPECT_EQ(page[0].name, "b");
    EXPECT_EQ(page[1].name, "c");
    const auto rest = answer_of(user.client().async_list("c", 10, 10, asio::use_future));
    ASSERT_EQ(rest.size(), 1u);
    EXPECT_EQ(rest[0].holders.at(0).label, "theirs");
}

}  // namespace
}  // namespace mortise::test::redis_key_test
