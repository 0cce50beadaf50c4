// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "support/eventually.hpp"
#include "support/proxy_thread.hpp"
#include "support/redis_proxy.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::test::redis_proxy_test {

using namespace std::chrono_literals;
using way = redis_proxy::way;

std::uint64_t counted(proxy_thread& proxy, proxied_message::kind type) {
    return proxy.run([type](redis_proxy& p) { return p.count(type); });
}

TEST(RedisProxy, PassesOnWhatItIsToldNothingAbout) {
    proxy_thread proxy(shared_redis().port());
    raw_redis redis(proxy.port());
    redis.command({"HELLO", "3"});
    const std::string value = std::string(3'000'000, 'v') + std::string("\0\r\n", 3);
    redis.command({"SET", "proxy:large", value});
    EXPECT_EQ(redis.command({"GET", "proxy:large"}).text, value);
    EXPECT_EQ(redis.command({"DEL", "proxy:large"}).number, 1);
    EXPECT_TRUE(redis.try_command({"NONSENSE"}).is_error());
    redis.command({"CONFIG", "GET", "*"});
    EXPECT_EQ(counted(proxy, proxied_message::kind::command), 6U);
    EXPECT_EQ(counted(proxy, proxied_message::kind::reply), 6U);
    EXPECT_EQ(counted(proxy, proxied_message::kind::push), 0U);
}

TEST(RedisProxy, KeepsTheOrderOfRepliesAndPushes) {
    proxy_thread proxy(shared_redis().port());
    raw_redis redis(proxy.port());
    redis.command({"HELLO", "3"});
    redis.send({"SUBSCRIBE", "proxy:a", "proxy:b"});
    for (int i = 0; i < 100; ++i) {
        redis.send({"PUBLISH", "proxy:a", std::to_string(i)});
        redis.send({"ECHO", std::to_string(i)});
    }
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(redis.receive().number, 1);
        EXPECT_EQ(redis.receive().text, std::to_string(i));
    }
    ASSERT_EQ(redis.next_push(10s).value().at(0).text, "subscribe");
    ASSERT_EQ(redis.next_push(10s).value().at(0).text, "subscribe");
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(redis.next_push(10s).value().at(2).text, std::to_string(i));
    EXPECT_EQ(counted(proxy, proxied_message::kind::command), 202U);
    EXPECT_EQ(counted(proxy, proxied_message::kind::reply), 201U);
    EXPECT_EQ(counted(proxy, proxied_message::kind::push), 102U);
}

TEST(RedisProxy, CountsByConnection) {
    proxy_thread proxy(shared_redis().port());
    raw_redis one(proxy.port());
    one.command({"PING"});
    raw_redis other(proxy.port());
    other.command({"PING"});
    one.command({"PING"});
    proxy.run([](redis_proxy& p) {
        EXPECT_EQ(p.connections(), 2U);
        EXPECT_EQ(p.open_connections(), 2U);
        EXPECT_EQ(p.count(proxied_message::kind::command), 3U);
        EXPECT_EQ(p.count(proxied_message::kind::command, 1), 2U);
        EXPECT_EQ(p.count(proxied_message::kind::reply, 2), 1U);
        EXPECT_THROW(p.count(proxied_message::kind::reply, 3), std::out_of_range);
    });
}

TEST(RedisProxy, ShowsEachMessageToTheJudge) {
    proxy_thread proxy(shared_redis().port());
    std::vector<std::string> seen;
    proxy.run([&seen](redis_proxy& p) {
        p.decide([&seen](const proxied_message& message) {
            seen.push_back(
                std::to_string(static_cast<int>(message.type)) + " " + message.name + " " +
                std::to_string(message.number)
            );
            return proxy_deed();
        });
    });
    raw_redis redis(proxy.port());
    redis.command({"hello", "3"});
    redis.send({"Subscribe", "proxy:c"});
    redis.command({"publish", "proxy:c", "x"});
    EXPECT_TRUE(eventually([&] { return proxy.run([&](redis_proxy&) { return seen.size(); }) == 7; }
    ));
    proxy.run([&](redis_proxy&) {
        std::sort(seen.begin(), seen.end());
        const std::vector<std::string> expected = {
            "0 HELLO 1",
            "0 PUBLISH 3",
            "0 SUBSCRIBE 2",
            "1 HELLO 1",
            "1 PUBLISH 2",
            "2 message 2",
            "2 subscribe 1"};
        EXPECT_EQ(seen, expected);
    });
}

TEST(RedisProxy, EndsAConnectionWhenEitherSideDoes) {
    redis_server server;
    proxy_thread proxy(server.port());
    const auto open = [&] {
        return proxy.run([](redis_proxy& p) { return p.open_connections(); });
    };
    {
        raw_redis redis(proxy.port());
        redis.command({"PING"});
        EXPECT_EQ(open(), 1U);
    }
    EXPECT_TRUE(eventually([&] { return open() == 0; }));
    raw_redis redis(proxy.port());
    redis.command({"PING"});
    server.kill();
    EXPECT_TRUE(redis.ends_within(10s));
    EXPECT_TRUE(raw_redis(proxy.port()).ends_within(10s)) << "there is no server";
    server.start();
    EXPECT_TRUE(raw_redis(proxy.port()).command({"PING"}).is("PONG"));
}

// As a harness does whose client lives on the same thread.
TEST(RedisProxy, RunsOnTheExecutorThatItIsGiven) {
    asio::io_context context;
    redis_proxy proxy(context.get_executor(), shared_redis().port());
    asio::ip::tcp::socket socket(context);
    const std::string ping = encode_redis_command({"PING"});
    std::array<char, 64> bytes{};
    std::string reply;
    const auto heard = [&](error_code failed, std::size_t size) {
        reply = failed ? failed.message() : std::string(bytes.data(), size);
    };
    const asio::ip::tcp::endpoint there(asio::ip::address_v4::loopback(), proxy.port());
    socket.async_connect(there, [&](error_code) {
        asio::async_write(socket, asio::buffer(ping), [&](error_code, std::size_t) {
            socket.async_read_some(asio::buffer(bytes), heard);
        });
    });
    while (reply.empty() && context.run_one_for(10s) > 0) {
    }
    EXPECT_EQ(reply, "+PONG\r\n");
}

}  // namespace mortise::test::redis_proxy_test
