// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_token.hpp"
#include "mortise/outbox/mark.hpp"
#include "mortise/outbox/message.hpp"
#include "table/key_hash.hpp"
#include "table/message_columns.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace mortise::test::outbox_message_test {
namespace {

using outbox::header;
using outbox::mark;
using outbox::message;
namespace table = outbox::table;

TEST(OutboxMessage, DrawsUuidsOfVersionSeven) {
    const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    std::set<std::string> seen;
    for (int i = 0; i < 1'000; ++i) {
        const auto id = message::draw_id();
        EXPECT_TRUE(std::regex_match(id, form)) << id;
        EXPECT_TRUE(seen.insert(id).second) << id;
    }
}

TEST(OutboxMessage, CarriesTheTokensOfLocks) {
    message event("events", "k", "v");
    const fencing_token held{77, *token_domain::parse("main")};
    event.under("sku:42", held);
    EXPECT_EQ(event.token_of("sku:42"), held);
    EXPECT_FALSE(event.token_of("sku:43"));
    ASSERT_NE(event.find_header("mortise-lock"), nullptr);
    EXPECT_EQ(*event.find_header("mortise-lock"), "sku%3A42; main; 77");
}

TEST(LockToken, ReadsWhatItWrites) {
    const lock_token one("a b;c%\xff", {12, *token_domain::parse("main")});
    EXPECT_EQ(lock_token::parse(one.text()), one);
    EXPECT_EQ(lock_token::parse("  x ;main;  12  "), lock_token("x", one.token));
    for (const char* wrong :
         {"",
          "x",
          "x; main",
          "x; main; ",
          "x; main; 1; 2",
          "x; main; -1",
          "x; ma in; 1",
          "x%4; main; 1",
          "x; ; 1",
          "x; main; 9223372036854775808"})
        EXPECT_FALSE(lock_token::parse(wrong)) << wrong;
}

// Known values of Kafka's own clients.
TEST(OutboxKeyHash, IsThatOfKafka) {
    const auto positive = [](std::int32_t value) {
        return static_cast<std::uint32_t>(value) & 0x7fffffffu;
    };
    EXPECT_EQ(table::key_hash("21"), positive(-973932308));
    EXPECT_EQ(table::key_hash("foobar"), positive(-790332482));
    EXPECT_EQ(table::key_hash("a-little-bit-long-string"), positive(-985981536));
    EXPECT_EQ(table::key_hash("a-little-bit-longer-string"), positive(-1486304829));
    EXPECT_EQ(table::key_hash("abc"), positive(479470107));
}

TEST(OutboxHeaderBytes, ReadWhatTheyWrite) {
    const std::vector<header> some = {{"a", ""}, {"b", std::string(300, '\0')}, {"a", "x"}};
    EXPECT_EQ(table::headers_in(table::bytes_of(some)), some);
    EXPECT_EQ(table::headers_in(""), std::vector<header>());
    const auto bytes = table::bytes_of({{"name", "value"}});
    for (std::size_t cut = 1; cut < bytes.size(); ++cut)
        EXPECT_FALSE(table::headers_in(std::string_view(bytes).substr(0, cut))) << cut;
}

TEST(OutboxMark, ReadsWhatItWrites) {
    mark one;
    one.table = "0123456789abcdef";
    one.generation = 2;
    one.shard = 3;
    one.sequence = 18'446'744'073'709'551'615u;
    one.row = 5;
    one.message = "an id with % and \t and spaces";
    EXPECT_EQ(mark::parse(one.text()), one);
    one.message.clear();
    EXPECT_EQ(mark::parse(one.text()), one);
    one.layout = "an id with % and spaces";
    EXPECT_EQ(mark::parse(one.text()), one);
}

TEST(OutboxMark, OfAnOlderVersionIsRead) {
    const std::string body = "mortise-mark-1 table 2 3 4 5 m-1";
    const auto read = mark::parse(body + ' ' + std::to_string(outbox::table::key_hash(body)));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->row, 5);
    EXPECT_EQ(read->message, "m-1");
    EXPECT_TRUE(read->layout.empty());
    const std::string torn = "mortise-mark-2 table 2 3 4 5 m-1";
    EXPECT_FALSE(mark::parse(torn + ' ' + std::to_string(outbox::table::key_hash(torn))));
}

TEST(OutboxMark, NoticesEveryChangeOfAByte) {
    mark one;
    one.table = "ab";
    one.sequence = 17;
    one.row = 4;
    one.message = "m-1";
    one.layout = "c";
    const auto text = one.text();
    for (std::size_t i = 0; i < text.size(); ++i) {
        for (const char other : {'0', '7', ' ', 'x'}) {
            auto changed = text;
            changed[i] = other;
            if (changed != text) {
                EXPECT_FALSE(mark::parse(changed)) << changed;
            }
        }
        EXPECT_FALSE(mark::parse(text.substr(0, i))) << i;
    }
    EXPECT_FALSE(mark::parse(text + ' '));
    EXPECT_FALSE(mark::parse(text + "0"));
}

}  // namespace
}  // namespace mortise::test::outbox_message_test
