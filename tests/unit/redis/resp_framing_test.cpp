// SPDX-License-Identifier: BSL-1.0
#include "support/resp_framing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace mortise::test::resp_framing_test {

using namespace std::string_literals;

const std::vector<std::string> every_kind = {
    "+OK\r\n",
    "-ERR no\r\n",
    ":-12\r\n",
    "_\r\n",
    ",3.25\r\n",
    "#t\r\n",
    "(3492890328409238509324850943850943825024385\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "$0\r\n\r\n",
    "$9\r\n*1\r\n\0$4\r\n\r\n"s,
    "!5\r\nERR x\r\n",
    "=7\r\ntxt:a\r\n\r\n",
    "*0\r\n",
    "%0\r\n",
    "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    "*3\r\n*2\r\n:1\r\n*1\r\n*0\r\n%1\r\n+a\r\n~2\r\n:1\r\n:2\r\n$-1\r\n",
    ">3\r\n+message\r\n+c\r\n$2\r\n\r\n\r\n",
    "|1\r\n+ttl\r\n:3600\r\n*1\r\n|1\r\n+a\r\n+b\r\n:5\r\n",
    "|0\r\n>1\r\n+x\r\n",
};

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts)
        all += part;
    return all;
}

std::vector<std::string> take_all(resp_framing& framing) {
    std::vector<std::string> taken;
    while (const auto message = framing.next())
        taken.push_back(message->bytes);
    return taken;
}

TEST(RespFraming, FindsTheEndOfEveryKindOfMessage) {
    resp_framing framing;
    framing.feed(joined(every_kind));
    EXPECT_EQ(take_all(framing), every_kind);
    EXPECT_EQ(framing.rest(), "");
}

TEST(RespFraming, IsTheSameWhereverTheStreamIsSplit) {
    const std::string stream = joined(every_kind);
    for (std::size_t split = 0; split <= stream.size(); ++split) {
        resp_framing framing;
        framing.feed(std::string_view(stream).substr(0, split));
        std::vector<std::string> taken = take_all(framing);
        framing.feed(std::string_view(stream).substr(split));
        for (std::string& message : take_all(framing))
            taken.push_back(std::move(message));
        ASSERT_EQ(taken, every_kind) << "split at " << split;
    }
}

TEST(RespFraming, TakesAStreamByteByByte) {
    resp_framing framing;
    std::vector<std::string> taken;
    for (const char byte : joined(every_kind)) {
        framing.feed({&byte, 1});
        for (std::string& message : take_all(framing))
            taken.push_back(std::move(message));
    }
    EXPECT_EQ(taken, every_kind);
}

TEST(RespFraming, TellsPushesFromRepliesAndErrors) {
    resp_framing framing;
    framing.feed("+a\r\n>1\r\n+b\r\n|1\r\n+k\r\n-v\r\n>1\r\n+c\r\n-ERR\r\n*1\r\n-inside\r\n");
    std::string kinds;
    while (const auto message = framing.next())
        kinds += message->is_push() ? 'p' : message->is_error() ? 'e' : 'r';
    EXPECT_EQ(kinds, "rpper");
}

TEST(RespFraming, KeepsWhatIsNotWhole) {
    resp_framing framing;
    framing.feed("+a\r\n$5\r\nhal");
    ASSERT_TRUE(framing.next());
    EXPECT_FALSE(framing.next());
    EXPECT_EQ(framing.rest(), "$5\r\nhal");
}

TEST(RespFraming, RefusesWhatIsNoMessageAndGoesOnToDoSo) {
    for (const char* bad :
         {"PING\r\n",
          "\r\n",
          "$x\r\n",
          "$\r\n",
          "$?\r\n",
          "*?\r\n",
          "*-2\r\n",
          "*1x\r\n",
          "$2\r\nabc\r\n",
          "*2\r\n:1\r\nhello\r\n",
          "*99999999999999999999\r\n"}) {
        resp_framing framing;
        framing.feed(bad);
        EXPECT_THROW(framing.next(), resp_error) << bad;
        EXPECT_THROW(framing.next(), resp_error) << bad;
    }
}

}  // namespace mortise::test::resp_framing_test
