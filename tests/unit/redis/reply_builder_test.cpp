// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_replies.hpp"
#include "unit/redis/said.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail::reply_builder_test {
namespace {

using boost::redis::resp3::type;
using test::said_array;
using test::said_error;
using test::said_number;
using test::said_text;

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
    EXPECT_EQ(built({one(type::simple_string, "OK")}), said_text("OK"));
    EXPECT_EQ(built({one(type::blob_string, "a\r\n")}), said_text("a\r\n"));
    EXPECT_EQ(built({one(type::verbatim_string, "txt:a")}), said_text("txt:a"));
    EXPECT_EQ(built({one(type::doublean, "1.5")}), said_text("1.5"));
    EXPECT_EQ(built({one(type::boolean, "t")}), said_text("t"));
    EXPECT_EQ(built({one(type::number, "-9223372036854775808")}), said_number(INT64_MIN));
    EXPECT_EQ(built({one(type::null, "")}), redis_value());
    EXPECT_EQ(built({one(type::simple_error, "ERR no")}), said_error("ERR no"));
    EXPECT_EQ(built({one(type::blob_error, "ERR no")}), said_error("ERR no"));
}

TEST(ReplyBuilder, TakesANumberThatIsNoneForZero) {
    for (const char* bad : {"", "x", "9223372036854775808"})
        EXPECT_EQ(built({one(type::number, bad)}), said_number(0)) << bad;
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
        said_array(
            {said_number(1),
             said_array({said_array({said_text("deep")}), redis_value()}),
             said_text("last")}
        )
    );
}

TEST(ReplyBuilder, EndsEveryArrayThatItsLastItemCompletes) {
    EXPECT_EQ(
        built({many(type::array, 1), many(type::array, 1), many(type::array, 0)}),
        said_array({said_array({said_array({})})})
    );
}

TEST(ReplyBuilder, CompletesAnEmptyArrayAtOnce) {
    for (const type kind : {type::array, type::map, type::set, type::push})
        EXPECT_EQ(built({many(kind, 0)}), said_array({}));
    EXPECT_EQ(
        built({many(type::array, 2), many(type::array, 0), one(type::number, "2")}),
        said_array({said_array({}), said_number(2)})
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
        said_array({said_text("a"), said_number(1), said_text("b"), said_array({said_number(2)})})
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
        said_array({said_text("message"), said_text("channel"), said_text("a")})
    );
}

TEST(ReplyBuilder, KeepsErrorsInsideOfArrays) {
    EXPECT_EQ(
        built({many(type::array, 2), one(type::simple_error, "ERR a"), one(type::number, "1")}),
        said_array({said_error("ERR a"), said_number(1)})
    );
}

TEST(ReplyBuilder, BeginsAnewAfterEachValue) {
    reply_builder from;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(
            built(from, {many(type::array, 1), one(type::number, "7")}),
            said_array({said_number(7)})
        );
        EXPECT_EQ(built(from, {one(type::simple_string, "OK")}), said_text("OK"));
    }
}

TEST(ReplyBuilder, ReservesNoMemoryForItemsThatNeverCome) {
    reply_builder from;
    EXPECT_FALSE(from.add(many(type::array, std::size_t{1} << 60)));
    EXPECT_FALSE(from.add(one(type::number, "1")));
}

}  // namespace
}  // namespace mortise::store_detail::reply_builder_test
