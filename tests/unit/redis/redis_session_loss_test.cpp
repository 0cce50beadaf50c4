// SPDX-License-Identifier: BSL-1.0
// What a session of the queue form keeps and frees, if an answer, a write or the time for an
// opening is lost.
#include "support/eventually.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_parties.hpp"
#include "support/redis_server.hpp"
#include "support/redis_user.hpp"
#include "unit/redis/bare_redis_store.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::test::redis_session_loss_test {
namespace {

using namespace std::chrono_literals;

session_start fresh_session(std::chrono::milliseconds ttl) {
    session_start session;
    session.id = random_id::draw();
    session.generation = 1;
    session.ttl = ttl;
    return session;
}

grant taken(bare_redis_store& by, const std::string& name, request_id id) {
    lock_request wish;
    wish.id = id;
    wish.name = name;
    const auto reply = by.outcome((*by).request(wish));
    EXPECT_TRUE(reply && reply->type == answer::kind::granted);
    grant held;
    held.id = id;
    held.name = name;
    held.token = reply ? reply->token : fencing_token();
    return held;
}

// More than one call of the script frees.
TEST(RedisSessionLoss, AnEndWhoseAnswerIsLostIsCarriedOutToItsEnd) {
    const redis_server server;
    proxy_thread proxy(server.port());
    bare_redis_store user(bare_store_at(proxy.port()));
    ASSERT_TRUE(user.outcome((*user).resume(fresh_session(60s))));
    for (request_id id = 1; id <= 600; ++id)
        taken(user, "lock " + std::to_string(id), id);
    auto admin = server.connect();
    ASSERT_GT(admin.command({"DBSIZE"}).number, 600);
    proxy.run([](redis_proxy& at) {
        at.at(redis_proxy::kind::command, 1, proxy_deed::of(proxy_deed::kind::cut_answer));
    });
    EXPECT_TRUE(user.outcome((*user).end()));
    EXPECT_GT(admin.command({"KEYS", store_key("l:*")}).items.size(), 0u);
    EXPECT_TRUE(eventually([&] { return !user.outcome((*user).end()); }));
    EXPECT_EQ(admin.command({"KEYS", store_key("l:*")}).items.size(), 0u);
    EXPECT_EQ(sessions_at(admin).size(), 0u);
}

// While somebody watches, no release goes the short way.
TEST(RedisSessionLoss, AnEndWaitsForAReleaseThatTakesTwoCommands) {
    const redis_server server;
    bare_redis_store user(bare_store_at(server.port()));
    ASSERT_TRUE(user.outcome((*user).resume(fresh_session(60s))));
    const grant held = taken(user, "door", 1);
    ASSERT_FALSE(user.outcome((*user).watch()));
    auto releasing = user.begin((*user).release(held));
    auto ending = user.begin((*user).end());
    const auto released = releasing.get();
    ASSERT_TRUE(released) << released.error().message();
    EXPECT_TRUE(*released);
    EXPECT_FALSE(ending.get());
}

// As after a crash within a second: the grant was written, the last draw was not.
TEST(RedisSessionLoss, ADrawThatARunForgotIsNotRepeatedByTheNextRun) {
    const redis_server server;
    auto admin = server.connect();
    bare_redis_store user(bare_store_at(server.port()));
    ASSERT_TRUE(user.outcome((*user).resume(fresh_session(60s))));
    const grant held = taken(user, "door", 1);
    const std::string before = admin.command({"HGET", store_key("s"), "t"}).text;
    const auto first = user.outcome((*user).draw(held));
    ASSERT_TRUE(first);
    admin.command({"HSET", store_key("s"), "t", before});
    admin.command({"HSET", store_key("id"), "r", "another-run"});
    ASSERT_TRUE(user.outcome((*user).beat(0)));
    const auto second = user.outcome((*user).draw(held));
    ASSERT_TRUE(second);
    EXPECT_GE(second->first.value, first->first.value + first->count) << "a token given twice";
}

TEST(RedisSessionLoss, ABreakOfAGrantThatIsOverBreaksNothing) {
    const redis_server server;
    auto admin = server.connect();
    bare_redis_store dead(bare_store_at(server.port()));
    bare_redis_store other(bare_store_at(server.port()));
    ASSERT_TRUE(dead.outcome((*dead).resume(fresh_session(100ms))));
    break_order order;
    order.name = "door";
    order.token = taken(dead, "door", 1).token;
    // Its deadline passes: no heartbeat comes.
    const std::string session = sessions_at(admin).at(0);
    ASSERT_TRUE(eventually([&] {
        const auto deadline = deadline_at(admin, session);
        const auto time = admin.command({"TIME"});
        return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text) >
               deadline;
    }));
    const auto broken = other.outcome((*other).break_(order));
    ASSERT_TRUE(broken);
    EXPECT_FALSE(*broken);
    const auto records = other.outcome((*other).breaks("door", 10));
    ASSERT_TRUE(records);
    EXPECT_TRUE(records->empty());
    EXPECT_EQ(admin.command({"EXISTS", store_key("l:door")}).number, 0);
}

// The session is proved, and a replica must have that: meanwhile the time for the opening ends.
TEST(RedisSessionLoss, AnOpeningThatIsLateLeavesNoConnectionThatIsClosed) {
    const redis_server primary;
    redis_server replica({replica_of(primary)});
    auto admin = primary.connect();
    await_replicas(admin, 1);
    auto config = bare_store_at(primary.port());
    config.min_replicas = 1;
    config.connect_max = 300ms;
    redis_user user(config, 6s);
    acquired door;
    ASSERT_TRUE(eventually([&] {
        door = user.acquire("door", 10s);
        return !door.code;
    }));
    replica.suspend();
    admin.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    const auto stays_away = clock::now() + 600ms;
    eventually([&] { return clock::now() >= stays_away; });
    replica.resume();
    auto window = user.acquire("window", 20s);
    EXPECT_FALSE(window.code) << window.code.message() << ": " << user.explain();
    EXPECT_TRUE(door.held.held()) << "the session went on";
    EXPECT_FALSE(user.release(window.held));
}

}  // namespace
}  // namespace mortise::test::redis_session_loss_test
