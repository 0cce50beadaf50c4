// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store/redlock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::redlock_url_test {
namespace {

using namespace std::chrono_literals;

TEST(RedlockUrl, OfThreeHostsLeavesTheRestAsItIs) {
    const auto config = parse_redlock_url("redlock://a,b:7000,[::1]");
    ASSERT_EQ(config.servers.size(), 3u);
    EXPECT_EQ(config.servers[0].host, "a");
    EXPECT_EQ(config.servers[0].port, 6379);
    EXPECT_EQ(config.servers[1].port, 7000);
    EXPECT_EQ(config.servers[2].host, "::1");
    const redlock_store_config usual;
    EXPECT_EQ(config.longest_ttl, usual.longest_ttl);
    EXPECT_EQ(config.connect_max, usual.connect_max);
    EXPECT_EQ(config.client_name, usual.client_name);
    EXPECT_EQ(config.database, 0u);
    EXPECT_FALSE(config.tls || config.assume_new || config.allow_eviction);
    EXPECT_EQ(make_redlock_store(config)->traits().scheme, "redlock");
}

TEST(RedlockUrl, OpensTheStore) {
    EXPECT_EQ(open_store("redlock://a,b,c")->traits().scheme, "redlock");
    EXPECT_EQ(open_store("redlocks://a,b,c/2?assume_new=1")->traits().scheme, "redlock");
}

TEST(RedlockUrl, SaysEverything) {
    const auto config = parse_redlock_url(
        "redlocks://me:p%40w@a,b,c/3?prefix=shop:&domain=shop&allow_eviction=1&assume_new=true"
        "&ca_file=/a&certificate_file=/b&key_file=/c&tls_name=n&connect_max_ms=250"
        "&longest_ttl_ms=20000&client_name=till"
    );
    EXPECT_TRUE(config.tls && config.allow_eviction && config.assume_new);
    EXPECT_EQ(config.user + '/' + config.password, "me/p@w");
    EXPECT_EQ(config.database, 3u);
    EXPECT_EQ(config.prefix + config.domain, "shop:shop");
    EXPECT_EQ(config.ca_file, "/a");
    EXPECT_EQ(config.certificate_file, "/b");
    EXPECT_EQ(config.key_file, "/c");
    EXPECT_EQ(config.tls_name + config.client_name, "ntill");
    EXPECT_EQ(config.connect_max, 250ms);
    EXPECT_EQ(config.longest_ttl, 20s);
}

error_code refused(const std::string& url, const std::string& remedy) {
    try {
        make_redlock_store(parse_redlock_url(url));
    } catch (const error& wrong) {
        EXPECT_NE(std::string(wrong.what()).find(remedy), std::string::npos) << wrong.what();
        EXPECT_EQ(std::string(wrong.what()).find("s3cret"), std::string::npos) << wrong.what();
        return wrong.code();
    }
    return {};
}

TEST(RedlockUrl, IsRefusedWithTheReason) {
    EXPECT_EQ(refused("redlock://a", "3 or more"), errc::bad_config);
    EXPECT_EQ(refused("redlock://a,b", "3 or more"), errc::bad_config);
    EXPECT_EQ(refused("redlock://a,b,c,d", "odd"), errc::bad_config);
    EXPECT_EQ(refused("redlock://a,b,a", "once"), errc::bad_config);
    EXPECT_EQ(refused("redlock://u:s3cret@a,b,c/x", "by its number"), errc::bad_url);
    EXPECT_EQ(refused("redlock://a,b,c?form=queue", "form"), errc::bad_url);
    EXPECT_EQ(refused("redlock://a,b,c?tokens=1", "tokens"), errc::bad_url);
    EXPECT_THROW(parse_redlock_url("redis://a"), error);
}

}  // namespace
}  // namespace mortise::redlock_url_test
