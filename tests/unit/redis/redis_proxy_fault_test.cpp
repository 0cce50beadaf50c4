// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "support/eventually.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

namespace mortise::test::redis_proxy_fault_test {

using namespace std::chrono_literals;
using message = proxied_message::kind;
using deed = proxy_deed::kind;
using way = redis_proxy::way;

/// A server's key of its own behind a proxy, and a client of that.
class RedisProxyFault : public testing::Test {
protected:
    RedisProxyFault() { direct.command({"SET", key, "0"}); }

    void at(message type, std::uint64_t nth, proxy_deed what_to_do) {
        proxy.run([&](redis_proxy& p) { p.at(type, nth, what_to_do); });
    }
    void at(message type, std::uint64_t nth, deed what_to_do) {
        at(type, nth, proxy_deed::of(what_to_do));
    }
    std::size_t pending() {
        return proxy.run([](redis_proxy& p) { return p.pending(); });
    }
    std::string stored() { return direct.command({"GET", key}).text; }
    bool becomes(const std::string& value) {
        return eventually([&] { return stored() == value; });
    }
    bool lost(const std::vector<std::string>& words) {
        try {
            redis.command(words);
            return false;
        } catch (const std::system_error& error) {
            return error.code() == std::errc::connection_reset;
        }
    }

    const std::string key = "fault:n";
    raw_redis direct = shared_redis().connect();
    proxy_thread proxy{shared_redis().port()};
    raw_redis redis{proxy.port()};
};

TEST_F(RedisProxyFault, LosesACommandAndThoseBehindIt) {
    at(message::command, 3, deed::cut);
    std::string five;
    for (int i = 0; i < 5; ++i)
        five += encode_redis_command({"INCR", key});
    redis.send_bytes(five);
    EXPECT_EQ(redis.receive().number, 1);
    EXPECT_EQ(redis.receive().number, 2);
    EXPECT_TRUE(redis.ends_within(10s));
    EXPECT_EQ(stored(), "2");
    EXPECT_EQ(pending(), 0U);
}

TEST_F(RedisProxyFault, LosesAReplyOfACommandThatWasExecuted) {
    at(message::command, 2, deed::cut_answer);
    EXPECT_EQ(redis.command({"INCR", key}).number, 1);
    EXPECT_TRUE(lost({"INCR", key}));
    EXPECT_EQ(stored(), "2");
}

TEST_F(RedisProxyFault, LosesTheNthReplyOfAll) {
    at(message::reply, 2, deed::cut);
    raw_redis other(proxy.port());
    EXPECT_EQ(other.command({"INCR", key}).number, 1);
    EXPECT_TRUE(lost({"INCR", key}));
    EXPECT_EQ(other.command({"INCR", key}).number, 3);
}

TEST_F(RedisProxyFault, RepeatsACommandWithoutItsClientKnowing) {
    at(message::command, 1, deed::repeat);
    EXPECT_EQ(redis.command({"INCR", key}).number, 1);
    EXPECT_EQ(redis.command({"INCRBY", key, "10"}).number, 12);
    EXPECT_EQ(proxy.run([](redis_proxy& p) { return p.count(message::reply); }), 2U);
}

TEST_F(RedisProxyFault, RepeatsASubscriptionWithoutItsClientKnowing) {
    redis.command({"HELLO", "3"});
    at(message::command, 1, deed::repeat);
    redis.send({"SUBSCRIBE", key});
    EXPECT_EQ(redis.next_push(10s).value().at(0).text, "subscribe");
    EXPECT_TRUE(redis.command({"PING"}).is("PONG"));
    EXPECT_FALSE(redis.next_push(0ms));
}

TEST_F(RedisProxyFault, DelaysACommandAndThoseBehindIt) {
    at(message::command, 1, proxy_deed::late(600ms));
    const auto begin = clock::now();
    redis.send({"INCR", key});
    redis.send({"INCR", key});
    raw_redis other(proxy.port());
    EXPECT_EQ(other.command({"GET", key}).text, "0");
    EXPECT_EQ(redis.receive().number, 1);
    EXPECT_GE(clock::now() - begin, 600ms);
    EXPECT_EQ(redis.receive().number, 2);
}

TEST_F(RedisProxyFault, DelaysAReply) {
    at(message::reply, 1, proxy_deed::late(60ms));
    const auto begin = clock::now();
    redis.send({"INCR", key});
    EXPECT_TRUE(becomes("1"));
    EXPECT_EQ(redis.receive().number, 1);
    EXPECT_GE(clock::now() - begin, 60ms);
}

TEST_F(RedisProxyFault, SwallowsOrDelaysAPush) {
    redis.command({"HELLO", "3"});
    redis.send({"SUBSCRIBE", key});
    EXPECT_EQ(redis.next_push(10s).value().at(0).text, "subscribe");
    at(message::push, 2, deed::swallow);
    at(message::push, 3, proxy_deed::late(60ms));
    const auto begin = clock::now();
    for (const char* text : {"1", "2", "3"})
        direct.command({"PUBLISH", key, text});
    EXPECT_EQ(redis.next_push(10s).value().at(2).text, "1");
    EXPECT_EQ(redis.next_push(10s).value().at(2).text, "3");
    EXPECT_GE(clock::now() - begin, 60ms);
}

TEST_F(RedisProxyFault, CutsAtAPush) {
    redis.command({"HELLO", "3"});
    at(message::push, 1, deed::cut);
    redis.send({"SUBSCRIBE", key});
    EXPECT_TRUE(redis.ends_within(10s));
}

TEST_F(RedisProxyFault, HoldsCommandsWhileBothEndsStayConnected) {
    proxy.run([](redis_proxy& p) { p.hold(way::to_server); });
    redis.send({"INCR", key});
    raw_redis another(proxy.port());
    another.send({"INCR", key});
    EXPECT_FALSE(redis.ends_within(30ms));
    EXPECT_EQ(stored(), "0");
    proxy.run([](redis_proxy& p) { p.let_through(way::to_server); });
    EXPECT_EQ(redis.receive().number + another.receive().number, 1 + 2);
}

TEST_F(RedisProxyFault, HoldsRepliesOfCommandsThatWereExecuted) {
    proxy.run([](redis_proxy& p) { p.hold(way::to_client); });
    redis.send({"INCR", key});
    EXPECT_TRUE(becomes("1"));
    EXPECT_FALSE(redis.ends_within(30ms));
    proxy.run([](redis_proxy& p) { p.let_through(way::to_client); });
    EXPECT_EQ(redis.receive().number, 1);
}

TEST_F(RedisProxyFault, HidesTheEndOfAClientWhileItHoldsCommands) {
    const auto open = [this] {
        return proxy.run([](redis_proxy& p) { return p.open_connections(); });
    };
    {
        raw_redis gone(proxy.port());
        gone.command({"CLIENT", "SETNAME", "gone"});
        proxy.run([](redis_proxy& p) { p.hold(way::to_server); });
    }
    EXPECT_FALSE(redis.ends_within(30ms));
    const std::string list = direct.command({"CLIENT", "LIST"}).text;
    EXPECT_NE(list.find("name=gone"), std::string::npos);
    EXPECT_EQ(open(), 2U);
    proxy.run([](redis_proxy& p) { p.let_through(way::to_server); });
    EXPECT_TRUE(eventually([&] { return open() == 1; }));
}

TEST_F(RedisProxyFault, StallsOneConnectionOnly) {
    at(message::command, 1, deed::stall);
    redis.send({"INCR", key});
    raw_redis other(proxy.port());
    EXPECT_TRUE(eventually([this] { return pending() == 0; }));
    EXPECT_EQ(other.command({"INCR", key}).number, 1);
    EXPECT_FALSE(redis.ends_within(30ms));
    proxy.run([](redis_proxy& p) { p.cut_all(); });
    EXPECT_TRUE(redis.ends_within(10s));
    EXPECT_EQ(stored(), "1");
}

TEST_F(RedisProxyFault, RefusesConnectionsForAWhile) {
    redis.command({"PING"});
    proxy.run([](redis_proxy& p) { p.refuse_connections(); });
    EXPECT_THROW(raw_redis(proxy.port()), std::system_error);
    EXPECT_TRUE(redis.command({"PING"}).is("PONG")) << "old ones live on";
    proxy.run([](redis_proxy& p) { p.allow_connections(); });
    EXPECT_TRUE(raw_redis(proxy.port()).command({"PING"}).is("PONG"));
}

TEST_F(RedisProxyFault, CutsAllConnectionsByEndOrByReset) {
    for (const bool reset : {false, true}) {
        raw_redis one(proxy.port());
        raw_redis other(proxy.port());
        one.command({"PING"});
        other.command({"PING"});
        proxy.run([reset](redis_proxy& p) {
            p.cut_by_reset(reset);
            p.cut_all();
            EXPECT_EQ(p.open_connections(), 0U);
        });
        EXPECT_TRUE(one.ends_within(10s));
        EXPECT_TRUE(other.ends_within(10s));
    }
}

TEST_F(RedisProxyFault, ForgetsADelayWhenItsConnectionIsCut) {
    at(message::command, 1, proxy_deed::late(1h));
    redis.send({"INCR", key});
    EXPECT_TRUE(eventually([this] { return pending() == 0; }));
    proxy.run([](redis_proxy& p) { p.cut_all(); });
    EXPECT_TRUE(redis.ends_within(10s));
    EXPECT_EQ(stored(), "0");
}

TEST_F(RedisProxyFault, DecidesByTheNameOfACommand) {
    proxy.run([](redis_proxy& p) {
        p.decide([](const proxied_message& seen) {
            const bool meant = seen.type == message::command && seen.name == "EVAL";
            return proxy_deed::of(meant ? deed::cut_answer : deed::pass);
        });
    });
    redis.command({"INCR", key});
    EXPECT_TRUE(lost({"eval", "return redis.call('INCR', KEYS[1])", "1", key}));
    EXPECT_EQ(stored(), "2");
}

TEST_F(RedisProxyFault, RefusesDeedsThatCannotBeDone) {
    EXPECT_THROW(at(message::reply, 1, deed::repeat), std::logic_error);
    EXPECT_THROW(at(message::command, 1, deed::swallow), std::logic_error);
    EXPECT_THROW(at(message::push, 1, deed::cut_answer), std::logic_error);
    EXPECT_THROW(at(message::command, 0, deed::cut), std::logic_error);
}

// How a sweep goes: one fault at each place in turn, until there is no such place.
TEST_F(RedisProxyFault, IsSweptOverAllPlacesOfAnOperation) {
    const auto operate = [this] {
        raw_redis client(proxy.port());
        client.command({"HELLO", "3"});
        client.command({"SET", key, "1"});
        client.command({"SET", key, "2"});
    };
    std::string left;
    for (std::uint64_t place = 1;; ++place) {
        direct.command({"SET", key, "0"});
        at(message::command, place, deed::cut_answer);
        bool whole = true;
        try {
            operate();
        } catch (const std::system_error&) {
            whole = false;
        }
        left += stored();
        if (proxy.run([](redis_proxy& p) { return p.take_back(); }) != 0) {
            EXPECT_TRUE(whole);
            break;
        }
        EXPECT_FALSE(whole);
    }
    EXPECT_EQ(left, "0122");
    operate();
    operate();
    EXPECT_EQ(pending(), 0U) << "nothing of the sweep is left";
}

}  // namespace mortise::test::redis_proxy_fault_test
