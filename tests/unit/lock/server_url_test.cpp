// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "url/store_url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace mortise::server_url_test {
namespace {

server_url read(std::string_view text) {
    return server_url::parse(store_url::parse(text), 6379);
}

TEST(ServerUrl, NamesAHostAndMaybeAPort) {
    const auto plain = read("redis://localhost");
    ASSERT_EQ(plain.places.size(), 1u);
    EXPECT_EQ(plain.places[0].host, "localhost");
    EXPECT_EQ(plain.places[0].port, 6379);
    EXPECT_EQ(plain.user + plain.password + plain.path, "");
    EXPECT_EQ(read("redis://h:1").places[0].port, 1);
    EXPECT_EQ(read("redis://h:65535/3").places[0].port, 65535);
    EXPECT_EQ(read("redis://h:65535/3").path, "3");
}

TEST(ServerUrl, TakesAddressesWithColonsInBrackets) {
    const auto plain = read("redis://[::1]");
    EXPECT_EQ(plain.places[0].host, "::1");
    EXPECT_EQ(plain.places[0].port, 6379);
    const auto full = read("redis://u:p@[fe80::1%25eth0]:7000,[::2]/1");
    ASSERT_EQ(full.places.size(), 2u);
    EXPECT_EQ(full.places[0].host, "fe80::1%eth0");
    EXPECT_EQ(full.places[0].port, 7000);
    EXPECT_EQ(full.places[1].host, "::2");
}

TEST(ServerUrl, DecodesALogin) {
    const auto url = read("redis://a%40b%3A:p%40s%2Fs%3Aw%25@h/x%2Fy");
    EXPECT_EQ(url.user, "a@b:");
    EXPECT_EQ(url.password, "p@s/s:w%");
    EXPECT_EQ(url.places[0].host, "h");
    EXPECT_EQ(url.path, "x/y");
    EXPECT_EQ(read("redis://u@h").user, "u");
    EXPECT_EQ(read("redis://:p@h").password, "p");
    EXPECT_EQ(read("redis://u:p@q:r@h").password, "p@q:r") << "the last @ ends a login";
}

TEST(ServerUrl, NamesSeveralHosts) {
    const auto url = read("redis+sentinel://a,b:2,c:3/main/1");
    ASSERT_EQ(url.places.size(), 3u);
    EXPECT_EQ(url.places[0].host, "a");
    EXPECT_EQ(url.places[0].port, 6379);
    EXPECT_EQ(url.places[1].host, "b");
    EXPECT_EQ(url.places[1].port, 2);
    EXPECT_EQ(url.places[2].port, 3);
    EXPECT_EQ(url.path, "main/1");
}

void expect_bad_server(const std::string& text, std::string_view remedy) {
    try {
        read(text);
        ADD_FAILURE() << "took " << text;
    } catch (const error& wrong) {
        EXPECT_EQ(wrong.code(), errc::bad_url);
        EXPECT_NE(wrong.remedy().find(remedy), std::string::npos) << wrong.what();
    }
}

TEST(ServerUrl, RefusesBadPorts) {
    for (const char* port : {"", "0", "65536", "-1", "+1", "x", "1x", "%31", "1:2", " 1"}) {
        expect_bad_server(std::string("redis://h:") + port, "port from 1 to 65535");
        expect_bad_server(std::string("redis://[::1]:") + port + "/0", "port from 1 to 65535");
    }
}

TEST(ServerUrl, RefusesAServerWithoutAHost) {
    for (const char* text :
         {"redis://",
          "redis:///0",
          "redis://u:p@",
          "redis://:6379",
          "redis://[]",
          "redis://a,",
          "redis://,a",
          "redis://a,,b"})
        expect_bad_server(text, "name a host");
}

TEST(ServerUrl, RefusesAnythingButTwoSlashes) {
    for (const char* text : {"redis:", "redis:h", "redis:/h", "redis:u:p@h"})
        expect_bad_server(text, "two slashes");
}

TEST(ServerUrl, RefusesBrokenBrackets) {
    expect_bad_server("redis://[::1", "close the bracket");
    expect_bad_server("redis://[::1]6379", "colon between");
}

TEST(ServerUrl, ShowsNoPasswordWhenItIsRefused) {
    for (const char* text :
         {"redis:u:s3cret@h",
          "redis:/u:s3cret@h",
          "redis://u:s3cret@h:x",
          "redis://:s3cret@",
          "redis://u:a/s3cret@h",
          "redis://u:a?s3cret@h"}) {
        try {
            read(text);
            ADD_FAILURE() << "took " << text;
        } catch (const error& wrong) {
            EXPECT_EQ(std::string(wrong.what()).find("s3cret"), std::string::npos) << wrong.what();
        }
    }
}

}  // namespace
}  // namespace mortise::server_url_test
