// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "wire/call_messages.hpp"
#include "wire/fields.hpp"
#include "wire/message_reader.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace mortise::txn::call_headers_test {
namespace {

call some_call() {
    call call;
    call.type = operation::confirm;
    call.gid = {0x5f0c3a9be1d27746, 42};
    call.branch = 3;
    call.attempt = 7;
    call.epoch = 9'007'199'254'740'993;
    call.term = UINT64_MAX;
    call.participant = "st\303\266ck/1";
    call.payload = std::string("a\0b", 3);
    call.locks.emplace_back("sku:42; a, b\r\n", fencing_token{77, *token_domain::parse("main#1")});
    call.locks.emplace_back("", fencing_token());
    call.time_left = std::chrono::milliseconds(1'234);
    call.ended_below = 40;
    call.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    return call;
}

http::request sent(const call& call) {
    auto bytes = http::bytes_of(http::to_request(call, http::base_url::parse("http://h:1/a")));
    http::request_reader reader{http::message_limits()};
    EXPECT_EQ(reader.feed(bytes), http::fault::none);
    EXPECT_TRUE(reader.done());
    EXPECT_TRUE(bytes.empty());
    return reader.take();
}

TEST(TxnHttpCall, ArrivesAsItWas) {
    const call before = some_call();
    const auto request = sent(before);
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/a/confirm");
    std::string why;
    const auto after = http::read_call(request, operation::confirm, why);
    ASSERT_TRUE(after) << why;
    EXPECT_EQ(after->gid, before.gid);
    EXPECT_EQ(after->branch, before.branch);
    EXPECT_EQ(after->attempt, before.attempt);
    EXPECT_EQ(after->epoch, before.epoch);
    EXPECT_EQ(after->term, before.term);
    EXPECT_EQ(after->participant, before.participant);
    EXPECT_EQ(after->payload, before.payload);
    EXPECT_EQ(after->locks, before.locks);
    EXPECT_EQ(after->time_left, before.time_left);
    EXPECT_EQ(after->ended_below, before.ended_below);
    EXPECT_EQ(after->traceparent, before.traceparent);
}

TEST(TxnHttpCall, ArrivesWithEmptyTexts) {
    call call = some_call();
    call.participant.clear();
    call.payload.clear();
    call.traceparent.clear();
    std::string why;
    const auto got = http::read_call(sent(call), operation::confirm, why);
    ASSERT_TRUE(got) << why;
    EXPECT_EQ(got->participant + got->payload + got->traceparent, "");
}

TEST(TxnHttpCall, NobodyAddsAHeaderByATraceparent) {
    call call = some_call();
    call.traceparent = "00\r\nmortise-lock: x; y; 1";
    const auto request = sent(call);
    EXPECT_FALSE(request.headers.has(http::fields::traceparent));
    EXPECT_EQ(request.headers.all(http::fields::lock).size(), call.locks.size());
}

TEST(TxnHttpCall, ThatLacksAFieldIsRefusedByItsName) {
    const auto whole = sent(some_call());
    for (const auto& [name, value] : whole.headers) {
        if (name.rfind("mortise-", 0) != 0 || name == http::fields::lock)
            continue;
        http::request without = whole;
        without.headers = {};
        for (const auto& [key, text] : whole.headers) {
            if (key != name)
                without.headers.add(key, text);
        }
        std::string why;
        EXPECT_FALSE(http::read_call(without, operation::confirm, why));
        EXPECT_EQ(why, "the header " + name + " is missing");
        without.headers.add(name, value);
        without.headers.add(name, value);
        EXPECT_FALSE(http::read_call(without, operation::confirm, why));
        EXPECT_EQ(why, "the header " + name + " stands there more than once");
    }
}

TEST(TxnHttpCall, ThatSaysNonsenseIsRefused) {
    struct wrong {
        const char* name;
        const char* value;
    };
    const wrong all[] = {
        {"mortise-gid", "42"},
        {"mortise-gid", "5f0c3a9be1d27746-0"},
        {"mortise-branch", "0"},
        {"mortise-branch", "4294967296"},
        {"mortise-attempt", "-1"},
        {"mortise-attempt", "1 "},
        {"mortise-epoch", "9223372036854775808"},
        {"mortise-term", "18446744073709551616"},
        {"mortise-participant", "%"},
        {"mortise-participant", "%4"},
        {"mortise-participant", "%zz"},
        {"mortise-time-left-ms", "1e3"},
        {"mortise-time-left-ms", "3155760000001"},
        {"mortise-ended-below", ""},
        {"mortise-lock", "a"},
        {"mortise-lock", "a; b"},
        {"mortise-lock", "a; ; 1"},
        {"mortise-lock", "a; b c; 1"},
        {"mortise-lock", "a; b; 1; 2"},
        {"mortise-lock", "a; b; -1"},
        {"mortise-call", "confirm.5f0c3a9be1d27746-42.3.8.1"},
    };
    const auto whole = sent(some_call());
    for (const auto& each : all) {
        http::request bad = whole;
        bad.headers = {};
        for (const auto& [key, text] : whole.headers) {
            if (key != each.name)
                bad.headers.add(key, text);
        }
        bad.headers.add(each.name, each.value);
        std::string why;
        EXPECT_FALSE(http::read_call(bad, operation::confirm, why)) << each.name << each.value;
        EXPECT_NE(why.find(each.name), std::string::npos) << why;
    }
    std::string why;
    EXPECT_FALSE(http::read_call(whole, operation::cancel, why)) << "the path says another word";
}

TEST(TxnHttpCall, TakesLocksThatAProxyHasJoined) {
    const auto whole = sent(some_call());
    http::request joined = whole;
    joined.headers = {};
    std::string line;
    for (const auto& [key, text] : whole.headers) {
        if (key == http::fields::lock)
            line += (line.empty() ? "" : ", ") + text;
        else
            joined.headers.add(key, text);
    }
    joined.headers.add(http::fields::lock, line);
    std::string why;
    const auto got = http::read_call(joined, operation::confirm, why);
    ASSERT_TRUE(got) << why;
    EXPECT_EQ(got->locks, some_call().locks);
}

TEST(TxnHttpUrl, IsTakenApart) {
    struct taken {
        const char* text;
        const char* host;
        std::uint16_t port;
        const char* path;
        const char* authority;
    };
    const taken all[] = {
        {"http://stock", "stock", 80, "", "stock"},
        {"http://stock:8080/", "stock", 8080, "", "stock:8080"},
        {"http://127.0.0.1:1/a/b%20c/", "127.0.0.1", 1, "/a/b%20c", "127.0.0.1:1"},
        {"http://[::1]:8080/a", "::1", 8080, "/a", "[::1]:8080"},
        {"http://[fe80::1]", "fe80::1", 80, "", "[fe80::1]"},
        {"https://stock/a", "stock", 443, "/a", "stock"},
        {"https://stock:8443", "stock", 8443, "", "stock:8443"},
    };
    for (const auto& each : all) {
        const auto got = http::base_url::parse(each.text);
        EXPECT_EQ(got.host, each.host) << each.text;
        EXPECT_EQ(got.tls, std::string(each.text).starts_with("https")) << each.text;
        EXPECT_EQ(got.port, each.port) << each.text;
        EXPECT_EQ(got.path, each.path) << each.text;
        EXPECT_EQ(got.authority, each.authority) << each.text;
    }
}

TEST(TxnHttpUrl, ThatCannotBeCalledIsAClearError) {
    const char* const all[] = {
        "",
        "stock:8080",
        "httpss://stock",
        "ftp://stock",
        "http://",
        "http:///a",
        "http://:80",
        "http://stock:",
        "http://stock:0",
        "http://stock:65536",
        "http://stock:80a",
        "http://user:secret@stock",
        "http://stock/a?b",
        "http://stock/a#b",
        "http://stock/a b",
        "http://stock/a\r\nx: y",
        "http://st ock",
        "http://[::1",
        "http://[]",
        "http://[::1]a",
        "http://[",
    };
    for (const char* each : all) {
        try {
            http::base_url::parse(each);
            ADD_FAILURE() << each;
        } catch (const mortise::error& why) {
            EXPECT_EQ(why.code(), mortise::errc::bad_url) << each;
            EXPECT_FALSE(why.remedy().empty());
            EXPECT_EQ(std::string(why.what()).find("secret"), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace mortise::txn::call_headers_test
