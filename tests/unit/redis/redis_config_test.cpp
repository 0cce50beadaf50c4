// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mortise/store/redis.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>

namespace mortise::redis_config_test {
namespace {

using namespace std::chrono_literals;

TEST(RedisConfig, IsGoodAsItIsAtFirst) {
    EXPECT_EQ(make_redis_store({})->traits().scheme, "redis");
}

// With replicas the answer to a request takes longer than that to a release, which waits for none.
TEST(RedisConfig, ReleasesAndAsksInOneStepUnlessReplicasCount) {
    redis_store_config config;
    EXPECT_TRUE(make_redis_store(config)->traits().release_and_request);
    config.min_replicas = 1;
    EXPECT_FALSE(make_redis_store(config)->traits().release_and_request);
}

void expect_bad_config(
    const std::function<void(redis_store_config&)>& change, const std::string& remedy
) {
    redis_store_config config;
    change(config);
    try {
        make_redis_store(config);
        ADD_FAILURE() << "took what needs: " << remedy;
    } catch (const error& wrong) {
        EXPECT_EQ(wrong.code(), errc::bad_config);
        EXPECT_NE(wrong.remedy().find(remedy), std::string::npos) << wrong.what();
        EXPECT_FALSE(wrong.value().empty());
        EXPECT_EQ(std::string(wrong.what()).find("s3cret"), std::string::npos);
    }
}

TEST(RedisConfig, HasAPrefixThatCanStandInAScript) {
    const std::string long_prefix(65, 'p');
    for (const std::string& bad :
         {long_prefix,
          std::string("a b"),
          std::string("a'b"),
          std::string("a\"b"),
          std::string("a\\b"),
          std::string("{a}"),
          std::string("a\n"),
          std::string("\xC3\xA4"),
          std::string("a\0b", 3)})
        expect_bad_config([&](auto& config) { config.prefix = bad; }, "up to 64 printable");
    redis_store_config config;
    config.prefix = long_prefix.substr(1);
    EXPECT_TRUE(make_redis_store(config));
}

TEST(RedisConfig, OfAClusterNamesNothingElse) {
    const auto cluster = [](auto change) {
        return [change](redis_store_config& config) {
            config.cluster.emplace_back("h", std::uint16_t(1));
            change(config);
        };
    };
    expect_bad_config(cluster([](auto& config) { config.database = 1; }), "no other than 0");
    expect_bad_config(
        cluster([](auto& config) { config.allow_unseen_restarts = true; }), "must be noticed"
    );
    expect_bad_config(cluster([](auto& config) { config.unix_socket = "/s"; }), "leave the");
    expect_bad_config(
        cluster([](auto& config) {
            config.sentinels.emplace_back("h", std::uint16_t(2));
            config.primary_name = "main";
        }),
        "leave the"
    );
    expect_bad_config(
        cluster([](auto& config) { config.form = redis_form::single_key; }), "use the queue form"
    );
    expect_bad_config(cluster([](auto& config) { config.cluster[0].port = 0; }), "1 to 65535");
    for (const unsigned bad : {0u, 1'025u})
        expect_bad_config(cluster([&](auto& config) { config.buckets = bad; }), "1 to 1024");
}

TEST(RedisConfig, NamesItsConnectionsByOnePrintableWord) {
    for (const std::string& bad :
         {std::string(), std::string("a b"), std::string("a\n"), std::string(65, 'n')})
        expect_bad_config(
            [&](auto& config) { config.client_name = bad; }, "1 to 64 printable characters"
        );
}

TEST(RedisConfig, HasOnePlaceAndOneLogin) {
    const auto by_socket = [](auto change) {
        return [change](redis_store_config& config) {
            config.unix_socket = "/redis.sock";
            change(config);
        };
    };
    expect_bad_config(by_socket([](auto& config) { config.tls = true; }), "leave TLS out");
    expect_bad_config(
        by_socket([](auto& config) {
            config.sentinels.emplace_back("a", std::uint16_t{1});
            config.primary_name = "p";
        }),
        "sentinels name a host"
    );
    for (const char* const user : {"", "u"}) {
        expect_bad_config(
            [&](auto& config) {
                config.user = user;
                config.password = "s3cret";
                config.ask_login = [] { return redis_login(); };
            },
            "give the login, or ask_login"
        );
    }
    expect_bad_config([](auto& config) { config.tls_name.assign(256, 'n'); }, "name of a host");
}

TEST(RedisConfig, MayHaveNoPrefixOfItsOwn) {
    redis_store_config config;
    config.prefix.clear();
    EXPECT_TRUE(make_redis_store(config)) << "the usual one";
    config.form = redis_form::single_key;
    EXPECT_TRUE(make_redis_store(config)) << "none";
}

TEST(RedisConfig, OfTheSingleKeyFormAsksForNothingThatOnlyTheQueueFormHas) {
    const auto single = [](auto change) {
        return [change](redis_store_config& config) {
            config.form = redis_form::single_key;
            change(config);
        };
    };
    expect_bad_config(single([](auto& config) { config.min_replicas = 1; }), "only the queue form");
    expect_bad_config(single([](auto& config) { config.assume_new = true; }), "only the queue");
    expect_bad_config(single([](auto& config) { config.domain = "shop"; }), "ask for tokens");
    expect_bad_config(single([](auto& config) { config.prefix = "a b"; }), "up to 64 printable");
    redis_store_config config;
    config.form = redis_form::single_key;
    EXPECT_EQ(make_redis_store(config)->traits().strength, token_strength::absent);
    config.tokens = true;
    config.domain = "shop";
    const auto traits = make_redis_store(config)->traits();
    EXPECT_EQ(traits.strength, token_strength::durable_if_configured);
    EXPECT_FALSE(traits.fair || traits.push || traits.shared || traits.permits || traits.hold_max);
}

TEST(RedisConfig, HasADomainOfAWholeStore) {
    for (const char* bad : {"a b", "a-name-of-26-characters-xy", "shop#1", "\xC3\xA4"})
        expect_bad_config([&](auto& config) { config.domain = bad; }, "use 1 to 25 characters");
    redis_store_config config;
    config.domain = "a-name-of-25-characters-x";
    EXPECT_TRUE(make_redis_store(config));
}

TEST(RedisConfig, NamesHostsAndPorts) {
    expect_bad_config([](auto& config) { config.server.host = ""; }, "name the host");
    expect_bad_config([](auto& config) { config.server.port = 0; }, "port from 1");
    const auto by_sentinel = [](redis_address address) {
        return [address = std::move(address)](redis_store_config& config) {
            config.sentinels = {{"h", 1}, address};
            config.primary_name = "main";
        };
    };
    expect_bad_config(by_sentinel({"", 1}), "name the host");
    expect_bad_config(by_sentinel({"h", 0}), "port from 1");
    redis_store_config config;
    by_sentinel({"h", 2})(config);
    config.server = {"", 0};
    EXPECT_TRUE(make_redis_store(config)) << "where there are sentinels it is not used";
}

TEST(RedisConfig, NamesThePrimaryOfItsSentinels) {
    expect_bad_config([](auto& config) { config.sentinels = {{"h", 1}}; }, "call the primary");
}

TEST(RedisConfig, GivesAPasswordWithAUser) {
    expect_bad_config([](auto& config) { config.user = "me"; }, "password");
    expect_bad_config(
        [](auto& config) {
            config.sentinel_user = "me";
            config.password = "s3cret";
        },
        "password"
    );
    redis_store_config config;
    config.password = "s3cret";
    EXPECT_TRUE(make_redis_store(config)) << "that of the default user";
}

TEST(RedisConfig, HasTimesThatClocksCanHold) {
    for (const auto bad :
         {0ms,
          -1ms,
          std::chrono::milliseconds(24h) + 1ms,
          std::chrono::milliseconds::max(),
          std::chrono::milliseconds::min()}) {
        expect_bad_config([&](auto& config) { config.connect_max = bad; }, "to one day");
        expect_bad_config([&](auto& config) { config.longest_ttl = bad; }, "to one day");
    }
    redis_store_config config;
    config.connect_max = config.longest_ttl = 24h;
    EXPECT_TRUE(make_redis_store(config));
}

TEST(RedisConfig, NamesFilesThatCanBeRead) {
    const test::scratch_folder scratch;
    const auto there = scratch.path() / "there.pem";
    const auto missing = scratch.path() / "missing.pem";
    std::ofstream(there) << "text";
    expect_bad_config([&](auto& config) { config.ca_file = missing; }, "can be read");
    expect_bad_config([&](auto& config) { config.certificate_file = there; }, "both or neither");
    expect_bad_config([&](auto& config) { config.key_file = there; }, "both or neither");
    expect_bad_config(
        [&](auto& config) {
            config.certificate_file = there;
            config.key_file = missing;
        },
        "can be read"
    );
    redis_store_config config;
    config.ca_file = config.certificate_file = config.key_file = there;
    EXPECT_TRUE(make_redis_store(config));
}

}  // namespace
}  // namespace mortise::redis_config_test
