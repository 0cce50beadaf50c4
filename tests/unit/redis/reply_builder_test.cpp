// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_replies.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail::reply_builder_test {
namespace {

using boost::redis::resp3::type;
using test::array_reply;
using test::error_reply;
using test::number_reply;
using test::text_reply;

using node = boost::redis::resp3::basic_node<std::string_view>;

node many(type kind, std::size_t size) {
    return node{kind, size, 0, {}};
}

node one(type kind, std::string_view text) {
    return node{kind, 1, 1, text};
}

// The value, which only the last node completes.
redis_value built(reply_builder& from, const std::vector<node>& nodes) {
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i)
        EXPECT_FALSE(from.add(nodes[i])) << "complete after " << i + 1 << " nodes";
    auto value = from.add(nodes.back());
    EXPECT_TRUE(value);
    return value.value_or(redis_value());
}

redis_value built(const std::vector<node>& nodes) {
    reply_builder from;
    return built(from, nodes);
}

TEST(ReplyBuilder, MakesAValueOfASingleNode) {
    EXPECT_EQ(built({one(type::simple_string, "OK")}), text_reply("OK"));
    EXPECT_EQ(built({one(type::blob_string, "a\r\n")}), text_reply("a\r\n"));
    EXPECT_EQ(built({one(type::verbatim_string, "txt:a")}), text_reply("txt:a"));
    EXPECT_EQ(built({one(type::doublean, "1.5")}), text_reply("1.5"));
    EXPECT_EQ(built({one(type::boolean, "t")}), text_reply("t"));
    EXPECT_EQ(built({one(type::number, "-9223372036854775808")}), number_reply(INT64_MIN));
    EXPECT_EQ(built({one(type::null, "")}), redis_value());
    EXPECT_EQ(built({one(type::simple_error, "ERR no")}), error_reply("ERR no"));
    EXPECT_EQ(built({one(type::blob_error, "ERR no")}), error_reply("ERR no"));
}

TEST(ReplyBuilder, TakesANumberThatIsNoneForZero) {
    for (const char* bad : {"", "x", "9223372036854775808"})
        EXPECT_EQ(built({one(type::number, bad)}), number_reply(0)) << bad;
}

TEST(ReplyBuilder, MakesArraysOfArrays) {
    EXPECT_EQ(
        built(
            {many(type::array, 3),
             one(type::number, "1"),
             many(type::array, 2),
             many(type::array, 1),
             one(type::blob_string, "deep"),
             one(type::null, ""),
             one(type::blob_string, "last")}
        ),
        array_reply(
            {number_reply(1),
             array_reply({array_reply({text_reply("deep")}), redis_value()}),
             text_reply("last")}
        )
    );
}

TEST(ReplyBuilder, EndsEveryArrayThatItsLastItemCompletes) {
    EXPECT_EQ(
        built({many(type::array, 1), many(type::array, 1), many(type::array, 0)}),
        array_reply({array_reply({array_reply({})})})
    );
}

TEST(ReplyBuilder, CompletesAnEmptyArrayAtOnce) {
    for (const type kind : {type::array, type::map, type::set, type::push})
        EXPECT_EQ(built({many(kind, 0)}), array_reply({}));
    EXPECT_EQ(
        built({many(type::array, 2), many(type::array, 0), one(type::number, "2")}),
        array_reply({array_reply({}), number_reply(2)})
    );
}

TEST(ReplyBuilder, MakesAMapAnArrayOfKeysAndValues) {
    EXPECT_EQ(
        built(
            {many(type::map, 2),
             one(type::blob_string, "a"),
             one(type::number, "1"),
             one(type::blob_string, "b"),
             many(type::set, 1),
             one(type::number, "2")}
        ),
        array_reply(
            {text_reply("a"), number_reply(1), text_reply("b"), array_reply({number_reply(2)})}
        )
    );
}

TEST(ReplyBuilder, MakesAPushAnArray) {
    EXPECT_EQ(
        built(
            {many(type::push, 3),
             one(type::blob_string, "message"),
             one(type::blob_string, "channel"),
             one(type::blob_string, "a")}
        ),
        array_reply({text_reply("message"), text_reply("channel"), text_reply("a")})
    );
}

TEST(ReplyBuilder, KeepsErrorsInsideOfArrays) {
    EXPECT_EQ(
        built({many(type::array, 2), one(type::simple_error, "ERR a"), one(type::number, "1")}),
        array_reply({error_reply("ERR a"), number_reply(1)})
    );
}

TEST(ReplyBuilder, BeginsAnewAfterEachValue) {
    reply_builder from;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(
            built(from, {many(type::array, 1), one(type::number, "7")}),
            array_reply({number_reply(7)})
        );
        EXPECT_EQ(built(from, {one(type::simple_string, "OK")}), text_reply("OK"));
    }
}

TEST(ReplyBuilder, ReservesNoMemoryForItemsThatNeverCome) {
    reply_builder from;
    EXPECT_FALSE(from.add(many(type::array, std::size_t{1} << 60)));
    EXPECT_FALSE(from.add(one(type::number, "1")));
}

}  // namespace
}  // namespace mortise::store_detail::reply_builder_test
