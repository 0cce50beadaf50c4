// SPDX-License-Identifier: BSL-1.0
// Redlock at real servers that die, stand still, and forget.
#include "mortise/store/redlock.hpp"
#include "mortise/with_lock.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_user.hpp"
#include "support/redlock_servers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::redlock_fault_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds ttl = 1'000ms;

/// A client of a Redlock store on a thread of its own.
class user : public redis_user {
public:
    explicit user(redlock_store_config config, milliseconds how_long = ttl)
        : redis_user(make_redlock_store(std::move(config)), settings(how_long)) {}

private:
    static client_config settings(milliseconds how_long) {
        client_config config;
        config.ttl = how_long;
        return config;
    }
};

redlock_store_config old_store(const redlock_servers& servers) {
    auto config = servers.config();
    config.assume_new = false;
    config.longest_ttl = ttl;
    return config;
}

// A node that is late, by 10 ms, is none of the nodes of a lease. What took less has all of them.
auto acquired_at_all(redlock_servers& servers, user& by, const std::string& name) {
    constexpr int attempts_max = 200;
    const auto is_everywhere = [&] {
        for (std::size_t i = 0; i < servers.size(); ++i) {
            if (servers.at(i).connect().command({"EXISTS", "{mortise:}l:" + name}).number != 1)
                return false;
        }
        return true;
    };
    for (int i = 0;; ++i) {
        const auto begun = clock::now();
        auto got = by.acquire(name);
        const auto took = clock::now() - begun;
        if (got.code || (took < 8ms && is_everywhere()) || i == attempts_max)
            return got;
        by.release(got.held);
    }
}

bool is_empty(redlock_servers& servers) {
    return eventually([&] { return servers.residue() == 0; });
}

TEST(RedlockFault, AMinorityThatDiesTakesNoLeaseAndHoldsNobodyUp) {
    redlock_servers servers(3);
    user alice(servers.config());
    user bob(servers.config());
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message() << ": " << alice.explain();
    servers.at(2).kill();
    for (int round = 0; round < 5; ++round) {
        auto other = bob.acquire("window", 5s);
        ASSERT_FALSE(other.code) << other.code.message() << ": " << bob.explain();
        EXPECT_FALSE(bob.release(other.held));
    }
    auto asked = bob.ask("door");
    EXPECT_EQ(asked.wait_for(2 * ttl), std::future_status::timeout);
    EXPECT_TRUE(held.held.held()) << "two of the nodes that granted it are there";
    const auto before = held.held.token();
    EXPECT_FALSE(alice.release(held.held));
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_GT(got.held.token().value, before.value);
    EXPECT_EQ(alice.client().stats().lost, 0u);
}

TEST(RedlockFault, TwoOfFiveThatStandStillHoldNobodyUp) {
    redlock_servers servers(5);
    {
        user alice(servers.config());
        auto first = acquired_at_all(servers, alice, "door");
        ASSERT_FALSE(first.code) << first.code.message();
        servers.at(1).suspend();
        servers.at(3).suspend();
        const machine_delay delay;
        const auto begun = clock::now();
        for (int round = 0; round < 3; ++round) {
            auto other = alice.acquire("window", 5s);
            ASSERT_FALSE(other.code) << other.code.message() << ": " << alice.explain();
            EXPECT_FALSE(alice.release(other.held));
        }
        EXPECT_LT(clock::now() - begun, ttl + delay.so_far())
            << "three rounds, and no node was waited for";
        EXPECT_TRUE(first.held.held()) << "three of the nodes that granted it are there";
        servers.at(1).resume();
        servers.at(3).resume();
        EXPECT_FALSE(alice.release(first.held));
    }
    EXPECT_TRUE(is_empty(servers)) << servers.left();
}

// With them, others may need just these nodes.
TEST(RedlockFault, AClientThatIsCutOffGivesUpItsPlacesAtTheRest) {
    redlock_servers servers(3);
    user alice(servers.config());
    user bob(servers.config());
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    auto asked = bob.ask("door");
    auto rest = servers.at(0).connect();
    const auto now = [&] { return rest.command({"TIME"}).items.at(0).text; };
    // What sessions that live have there.
    const auto entries = [&] {
        std::int64_t count = 0;
        const auto living =
            rest.command({"ZRANGEBYSCORE", "{mortise:}d", now() + "000000", "+inf"});
        for (const auto& each : living.items)
            count += rest.command({"HLEN", "{mortise:}e:" + each.text}).number;
        return count;
    };
    EXPECT_TRUE(eventually([&] { return entries() == 2; }));
    servers.at(1).suspend();
    servers.at(2).suspend();
    EXPECT_TRUE(eventually([&] { return entries() == 0; })) << servers.left();
    servers.at(1).resume();
    servers.at(2).resume();
    const auto got = outcome_of(asked);
    EXPECT_FALSE(got.code) << got.code.message() << bob.explain();
    EXPECT_FALSE(held.held.held());
}

TEST(RedlockFault, ATtlAboveTheLongestIsRefused) {
    redlock_servers servers(3);
    try {
        const user alice(old_store(servers), ttl + 1ms);
        ADD_FAILURE() << "it was accepted";
    } catch (const error& refused) {
        EXPECT_EQ(refused.code(), errc::ttl_too_long) << refused.what();
    }
}

TEST(RedlockFault, WithoutAMajorityHoldersAreToldInTime) {
    redlock_servers servers(3);
    user alice(servers.config());
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    std::promise<bool> warned;
    held.held.async_wait_lost([&](error_code) { warned.set_value(held.held.held()); });
    servers.at(0).kill();
    servers.at(1).kill();
    const auto cut = clock::now();
    auto warning = warned.get_future();
    ASSERT_EQ(warning.wait_for(3 * ttl), std::future_status::ready);
    EXPECT_TRUE(warning.get()) << "before the loss can be true";
    EXPECT_LE(held.held.valid_until(), cut + ttl);
    EXPECT_TRUE(eventually([&] { return !held.held.held(); }));
    const auto refused = alice.acquire("window", 300ms);
    EXPECT_TRUE(refused.code == condition::retryable) << refused.code.message();
    EXPECT_NE(refused.code, errc::busy) << "nobody knows whether somebody has it";
}

TEST(RedlockFault, ANodeWithoutMemoryIsOutUntilItKnowsTheCountersOfOthers) {
    redlock_servers servers(3);
    user alice(old_store(servers));
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message() << ": " << alice.explain();
    const auto token = held.held.token();
    servers.at(0).kill();
    servers.at(0).start(redis_server::data::lost);
    const auto started = clock::now();
    const auto record = [&](const char* field) {
        return servers.at(0).connect().command({"HGET", "{mortise:}id", field}).text;
    };
    EXPECT_TRUE(eventually([&] { return record("knows") == "0"; }));
    EXPECT_TRUE(held.held.held()) << "by the other two";
    EXPECT_TRUE(eventually([&] { return record("knows") == "1"; }));
    EXPECT_GE(clock::now() - started, ttl) << "after the longest TTL";
    EXPECT_GE(std::stoull(record("floor")), token.base()) << "what the others had granted";
    EXPECT_FALSE(alice.release(held.held));
    // It votes again: with it, another one may go.
    servers.at(1).kill();
    auto again = alice.acquire("door", 10s);
    ASSERT_FALSE(again.code) << again.code.message() << ": " << alice.explain();
    EXPECT_GT(again.held.token().value, token.value);
}

TEST(RedlockFault, AStoreThatForgotEverythingBeginsAgainAboveItsClocks) {
    redlock_servers servers(3);
    user alice(old_store(servers));
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    const auto token = held.held.token();
    const auto forgot = clock::now();
    for (std::size_t node = 0; node < 3; ++node)
        servers.at(node).connect().command({"FLUSHALL"});
    EXPECT_TRUE(eventually([&] { return held.held.state() == lease_state::lost; }));
    user bob(old_store(servers));
    auto got = bob.acquire("door");
    ASSERT_FALSE(got.code) << got.code.message() << ": " << bob.explain();
    EXPECT_GE(got.at - forgot, ttl) << "who held it may have believed in it for so long";
    EXPECT_GT(got.held.token().value, token.value);
}

TEST(RedlockFault, DurableNodesVoteAtOnceAndTheirTokensAreStrict) {
    redlock_servers servers(
        3, {"appendonly yes", "appendfsync always", "no-appendfsync-on-rewrite no"}
    );
    user alice(servers.config(), 5s);
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    EXPECT_EQ(alice.client().traits().strength, token_strength::strict);
    for (std::size_t node = 0; node < 3; ++node) {
        servers.at(node).kill();
        servers.at(node).start();
    }
    auto other = alice.acquire("window", 4s);
    ASSERT_FALSE(other.code) << other.code.message() << ": " << alice.explain();
    EXPECT_NE(held.held.state(), lease_state::lost) << "no vote was forgotten";
    user bob(servers.config(), 5s);
    EXPECT_EQ(bob.acquire("door", 100ms).code, errc::busy);
}

// The heartbeats of a node whose vote is gone prove nothing, and another client may get that vote.
TEST(RedlockFault, AGrantThatHasLostOneOfItsVotesIsGivenUp) {
    redlock_servers servers(3);
    user alice(servers.config(), 5s);
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    auto node = servers.at(0).connect();
    const auto key = node.command({"KEYS", "{mortise:}e:*"}).texts().at(0);
    const auto session = key.substr(key.rfind(':') + 1);
    const auto request = node.command({"HKEYS", key}).texts().at(0);
    node.command({"DEL", "{mortise:}l:door"});
    const auto count = node.command({"HINCRBY", "{mortise:}g", session, "1"}).number;
    const std::string word =
        std::to_string(count) + " k " + request + ' ' + std::to_string(held.held.token().base());
    EXPECT_EQ(node.command({"PUBLISH", "{mortise:}i:" + session, word}).number, 1);
    EXPECT_TRUE(eventually([&] { return held.held.state() == lease_state::lost; }, 3s));
    user bob(servers.config(), 5s);
    EXPECT_FALSE(bob.acquire("door", 3s).code) << "and its other votes are freed";
}

TEST(RedlockFault, ServersWithoutMemoryTakeNoLease) {
    redlock_servers servers(3, {"maxmemory-policy noeviction"});
    user alice(servers.config());
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    for (std::size_t node = 0; node < 3; ++node)
        servers.at(node).connect().command({"CONFIG", "SET", "maxmemory", "1"});
    auto refused = alice.ask("window", 2 * ttl);
    EXPECT_TRUE(outcome_of(refused).code) << "new locks need memory";
    EXPECT_TRUE(held.held.held()) << alice.explain();
    EXPECT_EQ(alice.client().stats().lost, 0u);
    EXPECT_FALSE(alice.release(held.held));
    for (std::size_t node = 0; node < 3; ++node)
        servers.at(node).connect().command({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_FALSE(alice.acquire("door", 5s).code);
}

TEST(RedlockFault, OneServerByTwoNamesIsRefused) {
    redlock_servers servers(3);
    auto config = servers.config();
    config.servers[1] = redis_address("localhost", servers.at(0).port());
    user alice(config);
    const auto refused = alice.acquire("door", 2s);
    EXPECT_EQ(refused.code, errc::bad_config) << refused.code.message();
}

// The vote of a server that has two names would count twice.
TEST(RedlockFault, ASecondNameThatIsFoundLaterIsNotUsed) {
    redlock_servers servers(3);
    proxy_thread proxy(servers.at(0).port());
    proxy.run([](redis_proxy& at) { at.refuse_connections(); });
    auto config = servers.config();
    config.servers[2] = redis_address("localhost", proxy.port());
    user alice(config);
    auto first = alice.acquire("door", 5s);
    ASSERT_FALSE(first.code) << first.code.message() << ": " << alice.explain();
    EXPECT_FALSE(alice.release(first.held));
    proxy.run([](redis_proxy& at) { at.allow_connections(); });
    EXPECT_TRUE(eventually([&] {
        return alice.explain().find("another address in the list") != std::string::npos;
    })) << alice.explain();
    servers.at(1).kill();
    EXPECT_TRUE(alice.acquire("door", ttl).code) << "one server is no majority";
}

// A scan of that many entries comes in portions, of which the first ones are empty in the end.
TEST(RedlockFault, AClientWithManyLocksFreesThemAllWhenItStops) {
    constexpr int many = 1'500;
    redlock_servers servers(3);
    user alice(servers.config(), 30s);
    std::vector<std::future<acquired>> asked;
    for (int i = 0; i < many; ++i)
        asked.push_back(alice.ask("door " + std::to_string(i)));
    std::vector<lease> held;
    for (auto& each : asked) {
        auto got = outcome_of(each);
        ASSERT_FALSE(got.code) << got.code.message();
        held.push_back(std::move(got.held));
    }
    const auto stopped = alice.stop();
    EXPECT_FALSE(stopped) << stopped.message();
    EXPECT_TRUE(is_empty(servers)) << servers.left();
}

TEST(RedlockFault, AFlushOfAnotherDatabaseTakesNothing) {
    redlock_servers servers(3);
    user alice(servers.config(), 5s);
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    const auto session = [&](std::size_t node) {
        return servers.at(node).connect().command({"HKEYS", "{mortise:}s"}).texts();
    };
    std::vector<std::vector<std::string>> before;
    for (std::size_t node = 0; node < 3; ++node) {
        before.push_back(session(node));
        auto other = servers.at(node).connect();
        other.command({"SELECT", "1"});
        const auto beats = other.calls("evalsha");
        other.command({"FLUSHDB"});
        EXPECT_TRUE(eventually([&] { return other.calls("evalsha") > beats; })) << "it asks";
    }
    EXPECT_TRUE(held.held.held());
    for (std::size_t node = 0; node < 3; ++node)
        EXPECT_EQ(session(node), before[node]);
    servers.at(2).connect().command({"FLUSHDB"});
    EXPECT_TRUE(eventually([&] { return !session(2).empty() && session(2) != before[2]; }));
    EXPECT_TRUE(held.held.held()) << "by the other two";
}

TEST(RedlockFault, AStoreOfTheQueueFormAndRedlockRefuseEachOther) {
    redlock_servers servers(3);
    redis_store_config single;
    single.server = redis_address("127.0.0.1", servers.at(1).port());
    single.assume_new = true;
    single.longest_ttl = ttl;
    {
        redis_user first(single, ttl);
        ASSERT_FALSE(first.acquire("door").code);
    }
    user alice(servers.config());
    const auto refused = alice.acquire("door", 2s);
    EXPECT_EQ(refused.code, errc::not_a_store) << refused.code.message();
    EXPECT_NE(alice.explain().find("another kind"), std::string::npos) << alice.explain();
    single.server = redis_address("127.0.0.1", servers.at(0).port());
    redis_user second(single, ttl);
    EXPECT_EQ(second.acquire("door", 2s).code, errc::not_a_store);
}

TEST(RedlockFault, AListOfAnotherLengthIsRefused) {
    redlock_servers servers(5);
    user alice(servers.config());
    ASSERT_FALSE(alice.acquire("door").code);
    auto config = servers.config();
    config.servers.resize(3);
    user bob(config);
    EXPECT_EQ(bob.acquire("window", 2s).code, errc::bad_config);
    EXPECT_NE(bob.explain().find("5 nodes"), std::string::npos) << bob.explain();
}

TEST(RedlockFault, AWaiterDoesNotPollAndIsWokenByTheRelease) {
    redlock_servers servers(3);
    constexpr auto long_ttl = 6s;
    user alice(servers.config(), long_ttl);
    user bob(servers.config(), long_ttl);
    auto held = acquired_at_all(servers, alice, "door");
    ASSERT_FALSE(held.code) << held.code.message();
    auto asked = bob.ask("door");
    EXPECT_EQ(asked.wait_for(500ms), std::future_status::timeout);
    auto node = servers.at(0).connect();
    const auto before = node.calls("evalsha");
    EXPECT_EQ(asked.wait_for(1'500ms), std::future_status::timeout);
    EXPECT_LE(node.calls("evalsha") - before, 2u) << "a heartbeat of each";
    const machine_delay delay;
    const auto released = clock::now();
    EXPECT_FALSE(alice.release(held.held));
    auto got = outcome_of(asked);
    ASSERT_FALSE(got.code) << got.code.message();
    EXPECT_LT(got.at - released, 1s + delay.so_far()) << "no heartbeat was waited for";
}

TEST(RedlockFault, AWordThatIsLostWithItsConnectionIsFound) {
    redlock_servers servers(3);
    constexpr auto long_ttl = 6s;
    user alice(servers.config(), long_ttl);
    user bob(servers.config(), long_ttl);
    for (int round = 0; round < 5; ++round) {
        auto held = acquired_at_all(servers, alice, "door");
        ASSERT_FALSE(held.code) << held.code.message();
        auto asked = bob.ask("door");
        EXPECT_EQ(asked.wait_for(100ms), std::future_status::timeout);
        for (std::size_t node = 0; node < 3; ++node)
            servers.at(node).connect().command({"CLIENT", "KILL", "SKIPME", "yes"});
        const machine_delay delay;
        const auto begun = clock::now();
        EXPECT_FALSE(alice.release(held.held));
        auto got = outcome_of(asked);
        ASSERT_FALSE(got.code) << got.code.message();
        EXPECT_LT(got.at - begun, 2s + delay.so_far()) << "no heartbeat was waited for";
        EXPECT_FALSE(bob.release(got.held));
    }
}

// With a node away, two that ask at once can have one vote each.
TEST(RedlockFault, SplitVotesEndAndAllAreServedWithGrowingTokens) {
    redlock_servers servers(3);
    servers.at(2).kill();
    constexpr std::size_t clients = 6;
    constexpr int rounds = 8;
    std::vector<std::unique_ptr<user>> all;
    for (std::size_t i = 0; i < clients; ++i)
        all.push_back(std::make_unique<user>(servers.config(), 5s));
    std::uint64_t last = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::future<acquired>> asked;
        for (const auto& each : all)
            asked.push_back(each->ask("door"));
        for (std::size_t served = 0; served < clients; ++served) {
            std::size_t who = clients;
            ASSERT_TRUE(eventually([&] {
                for (std::size_t i = 0; i < clients; ++i) {
                    if (asked[i].valid() && asked[i].wait_for(0s) == std::future_status::ready)
                        who = i;
                }
                return who != clients;
            })) << "round "
                << round << ", " << served << " served";
            auto got = asked[who].get();
            ASSERT_FALSE(got.code) << got.code.message();
            EXPECT_GT(got.held.token().value, last);
            last = got.held.token().value;
            const auto released = all[who]->release(got.held);
            EXPECT_FALSE(released) << released.message();
        }
    }
    all.clear();
    EXPECT_TRUE(is_empty(servers)) << servers.left();
}

}  // namespace
}  // namespace mortise::test::redlock_fault_test
