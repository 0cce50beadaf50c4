// SPDX-License-Identifier: BSL-1.0
#include "store/redis/resp.hpp"
#include "unit/redis/reply_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store_detail::resp_test {
namespace {

using test::array_reply;
using test::error_reply;
using test::number_reply;
using test::text_reply;
using test::texts_reply;

void feed(resp_reader& into, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto room = into.room();
        const std::size_t size = std::min(room.size(), bytes.size());
        std::copy_n(bytes.begin(), size, room.begin());
        into.filled(size);
        bytes.remove_prefix(size);
    }
}

// What a reader makes of the bytes, which come in two portions.
std::vector<resp_item> items_of(std::string_view bytes, std::size_t first) {
    resp_reader reader;
    std::vector<resp_item> items;
    for (const auto portion : {bytes.substr(0, first), bytes.substr(first)}) {
        feed(reader, portion);
        while (auto item = reader.next())
            items.push_back(std::move(*item));
    }
    EXPECT_FALSE(reader.failed());
    return items;
}

// A value, which only the last byte completes, wherever the bytes are cut.
redis_value read(const std::string& bytes) {
    redis_value value;
    for (std::size_t first = 0; first < bytes.size(); ++first) {
        const auto items = items_of(bytes, first);
        EXPECT_EQ(items.size(), 1u) << "cut at " << first;
        if (items.size() != 1)
            return value;
        EXPECT_FALSE(items[0].pushed);
        EXPECT_TRUE(first == 0 || items[0].value == value) << "cut at " << first;
        value = items[0].value;
        resp_reader reader;
        feed(reader, std::string_view(bytes).substr(0, first));
        EXPECT_FALSE(reader.next()) << "complete after " << first << " bytes";
    }
    return value;
}

bool is_refused(std::string_view bytes) {
    resp_reader reader;
    feed(reader, bytes);
    while (reader.next())
        continue;
    return reader.failed();
}

TEST(Resp, ReadsWhatIsOneLine) {
    EXPECT_EQ(read("+OK\r\n"), text_reply("OK"));
    EXPECT_EQ(read("+\r\n"), text_reply(""));
    EXPECT_EQ(read("-ERR no\r\n"), error_reply("ERR no"));
    EXPECT_EQ(read(":7\r\n"), number_reply(7));
    EXPECT_EQ(read(":-9223372036854775808\r\n"), number_reply(INT64_MIN));
    EXPECT_EQ(read("_\r\n"), redis_value());
    EXPECT_EQ(read(",1.5\r\n"), text_reply("1.5"));
    EXPECT_EQ(read("#t\r\n"), text_reply("t"));
    EXPECT_EQ(read("(12345678901234567890\r\n"), text_reply("12345678901234567890"));
}

TEST(Resp, ReadsTextsOfAnyBytes) {
    EXPECT_EQ(read("$0\r\n\r\n"), text_reply(""));
    EXPECT_EQ(read("$3\r\na\r\n\r\n"), text_reply("a\r\n"));
    EXPECT_EQ(read(std::string("$3\r\na\0b\r\n", 9)), text_reply(std::string("a\0b", 3)));
    EXPECT_EQ(read("=5\r\ntxt:a\r\n"), text_reply("txt:a"));
    EXPECT_EQ(read("!6\r\nERR no\r\n"), error_reply("ERR no"));
    const std::string large(100'000, 'x');
    const std::string bytes = "$100000\r\n" + large + "\r\n";
    EXPECT_EQ(items_of(bytes, 4'000).at(0).value, text_reply(large));
}

TEST(Resp, ReadsNothingInTheWordsOfResp2) {
    EXPECT_EQ(read("$-1\r\n"), redis_value());
    EXPECT_EQ(read("*-1\r\n"), redis_value());
}

TEST(Resp, ReadsArraysOfArrays) {
    EXPECT_EQ(read("*0\r\n"), array_reply({}));
    EXPECT_EQ(
        read("*3\r\n:1\r\n*2\r\n*1\r\n$4\r\ndeep\r\n_\r\n+last\r\n"),
        array_reply(
            {number_reply(1),
             array_reply({array_reply({text_reply("deep")}), redis_value()}),
             text_reply("last")}
        )
    );
    EXPECT_EQ(read("*1\r\n*1\r\n*0\r\n"), array_reply({array_reply({array_reply({})})}));
    EXPECT_EQ(read("*2\r\n-ERR a\r\n:1\r\n"), array_reply({error_reply("ERR a"), number_reply(1)}));
}

TEST(Resp, ReadsSetsAndMapsAsArrays) {
    EXPECT_EQ(read("~2\r\n+a\r\n+b\r\n"), texts_reply({"a", "b"}));
    EXPECT_EQ(
        read("%2\r\n+a\r\n:1\r\n+b\r\n~1\r\n:2\r\n"),
        array_reply(
            {text_reply("a"), number_reply(1), text_reply("b"), array_reply({number_reply(2)})}
        )
    );
}

TEST(Resp, DropsWhatIsSaidOfAValue) {
    EXPECT_EQ(read("|1\r\n+ttl\r\n:3600\r\n+value\r\n"), text_reply("value"));
    EXPECT_EQ(read("|0\r\n:1\r\n"), number_reply(1));
    EXPECT_EQ(
        read("*2\r\n|1\r\n+of\r\n*1\r\n+a\r\n:1\r\n:2\r\n"),
        array_reply({number_reply(1), number_reply(2)})
    );
}

TEST(Resp, TellsPushesFromReplies) {
    const std::string bytes =
        "+a\r\n>3\r\n$7\r\nmessage\r\n+to\r\n+x\r\n>1\r\n+y\r\n*1\r\n>1\r\n+z\r\n>0\r\n";
    for (std::size_t first = 0; first < bytes.size(); ++first) {
        const auto items = items_of(bytes, first);
        ASSERT_EQ(items.size(), 5u);
        EXPECT_EQ(items[1].value, texts_reply({"message", "to", "x"}));
        const std::vector<bool> pushed{false, true, true, false, true};
        for (std::size_t at = 0; at < pushed.size(); ++at)
            EXPECT_EQ(items[at].pushed, pushed[at]) << at;
    }
}

TEST(Resp, ReadsWhatComesByteByByte) {
    const std::string bytes = ">2\r\n+a\r\n$5\r\nb\r\nc\n\r\n*1\r\n:12\r\n";
    resp_reader reader;
    std::vector<resp_item> items;
    for (const char each : bytes) {
        feed(reader, std::string_view(&each, 1));
        if (auto item = reader.next())
            items.push_back(std::move(*item));
    }
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].value, texts_reply({"a", "b\r\nc\n"}));
    EXPECT_EQ(items[1].value, array_reply({number_reply(12)}));
}

TEST(Resp, RefusesWhatNoServerSays) {
    for (const char* const bad : {
             "HTTP/1.1 400 Bad Request\r\n",
             "\r\n",
             ":\r\n",
             ":1x\r\n",
             ":9223372036854775808\r\n",
             "_x\r\n",
             "$-2\r\n",
             "$x\r\n",
             "*-2\r\n",
             "~-1\r\n",
             "$1\r\nab\r\n",
             "$?\r\n",
             "*?\r\n",
         })
        EXPECT_TRUE(is_refused(bad)) << bad;
    EXPECT_FALSE(is_refused("$1\r\n"));
}

TEST(Resp, ReservesNoMemoryForWhatNeverComes) {
    EXPECT_FALSE(is_refused("*500000000\r\n:1\r\n"));
    EXPECT_FALSE(is_refused("$500000000\r\nabc"));
}

TEST(Resp, HasLimits) {
    EXPECT_TRUE(is_refused("$1000000000\r\n")) << "a text";
    EXPECT_TRUE(is_refused("*18446744073709551615\r\n")) << "an array";
    EXPECT_TRUE(is_refused("+" + std::string(resp_reader::line_max, 'x'))) << "a line";
    std::string deep;
    for (std::size_t depth = 0; depth <= resp_reader::depth_max; ++depth)
        deep += "*1\r\n";
    EXPECT_TRUE(is_refused(deep)) << "depth";
    EXPECT_FALSE(is_refused("*2\r\n$400000000\r\n"));
    resp_reader reader;
    feed(reader, "*3\r\n$0\r\n\r\n$536870900\r\n");
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.failed()) << "all items of an array together";
}

TEST(Resp, SaysNothingAfterAFault) {
    resp_reader reader;
    feed(reader, ":x\r\n+OK\r\n");
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.failed());
    EXPECT_FALSE(reader.next());
}

TEST(Resp, WritesCommands) {
    std::string bytes;
    put_command(bytes, {"GET", std::string("a\0\r\n", 4)});
    put_command(bytes, {"PING"});
    EXPECT_EQ(bytes, std::string("*2\r\n$3\r\nGET\r\n$4\r\na\0\r\n\r\n*1\r\n$4\r\nPING\r\n", 37));
    EXPECT_EQ(read(bytes.substr(0, 23)).items.size(), 2u);
}

TEST(Resp, KnowsWhichCommandsAreAnsweredByPushes) {
    for (const char* const name : {"SUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE"})
        EXPECT_TRUE(is_answered_by_push(name));
    for (const char* const name : {"GET", "PUBLISH", "PING", ""})
        EXPECT_FALSE(is_answered_by_push(name));
}

}  // namespace
}  // namespace mortise::store_detail::resp_test
