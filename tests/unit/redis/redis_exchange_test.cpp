// SPDX-License-Identifier: BSL-1.0
#include "support/redis_exchange.hpp"
#include "support/redis_value.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::test::redis_exchange_test {

using fate = redis_exchange::fate;

resp_message one(const std::string& bytes) {
    resp_framing framing;
    framing.feed(bytes);
    return framing.next().value();
}

resp_message command(const std::vector<std::string>& words) {
    return one(encode_redis_command(words));
}

std::string push(const std::string& word) {
    return ">3\r\n+" + word + "\r\n+channel\r\n:1\r\n";
}

/// Describes what was answered, whether by a push, and its fate.
std::string heard(redis_exchange& exchange, const std::string& bytes) {
    const redis_exchange::answer answer = exchange.received(one(bytes));
    return (answer.is_push ? ">" : "") + answer.name +
           (answer.to_be == fate::pass      ? ""
            : answer.to_be == fate::swallow ? " swallow"
                                            : " cut");
}

TEST(RedisExchange, GivesEachReplyToItsCommand) {
    redis_exchange exchange;
    EXPECT_EQ(exchange.sent(command({"get", "k"}), fate::pass), "GET");
    EXPECT_EQ(exchange.sent(command({"SET", "k", "v"}), fate::swallow), "SET");
    EXPECT_EQ(exchange.sent(command({"Del", "k"}), fate::cut), "DEL");
    EXPECT_EQ(exchange.open(), 3U);
    EXPECT_EQ(heard(exchange, "_\r\n"), "GET");
    EXPECT_EQ(heard(exchange, push("message")), ">message");
    EXPECT_EQ(heard(exchange, "-ERR\r\n"), "SET swallow");
    EXPECT_EQ(heard(exchange, ":1\r\n"), "DEL cut");
    EXPECT_EQ(exchange.open(), 0U);
}

TEST(RedisExchange, KnowsThatSubscriptionsAreConfirmedByPushes) {
    redis_exchange exchange;
    exchange.sent(command({"SUBSCRIBE", "a", "b"}), fate::pass);
    exchange.sent(command({"PSUBSCRIBE", "*"}), fate::swallow);
    exchange.sent(command({"PING"}), fate::pass);
    EXPECT_EQ(heard(exchange, push("subscribe")), ">subscribe");
    EXPECT_EQ(heard(exchange, push("message")), ">message");
    EXPECT_EQ(heard(exchange, push("subscribe")), ">subscribe");
    EXPECT_EQ(heard(exchange, push("psubscribe")), ">psubscribe swallow");
    EXPECT_EQ(heard(exchange, "+PONG\r\n"), "PING");
    EXPECT_EQ(exchange.open(), 0U);
}

TEST(RedisExchange, KnowsThatSubscriptionsMayBeRefused) {
    redis_exchange exchange;
    exchange.sent(command({"SUBSCRIBE", "a", "b"}), fate::pass);
    exchange.sent(command({"PING"}), fate::pass);
    EXPECT_EQ(heard(exchange, "-NOPERM\r\n"), "SUBSCRIBE");
    EXPECT_EQ(heard(exchange, "+PONG\r\n"), "PING");
}

TEST(RedisExchange, TakesTheFirstConfirmationOfWhoUnsubscribesFromAll) {
    redis_exchange exchange;
    exchange.sent(command({"UNSUBSCRIBE"}), fate::cut);
    EXPECT_EQ(heard(exchange, push("unsubscribe")), ">unsubscribe cut");
    EXPECT_EQ(heard(exchange, push("unsubscribe")), ">unsubscribe");
    EXPECT_EQ(exchange.open(), 0U);
}

TEST(RedisExchange, BearsAServerThatSpeaksFirst) {
    redis_exchange exchange;
    EXPECT_EQ(heard(exchange, "-ERR max number of clients reached\r\n"), "");
    EXPECT_EQ(heard(exchange, push("invalidate")), ">invalidate");
}

}  // namespace mortise::test::redis_exchange_test
