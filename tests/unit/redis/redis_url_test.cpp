// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store/redis.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

namespace mortise::redis_url_test {
namespace {

using namespace std::chrono_literals;

TEST(RedisUrl, OfAHostLeavesTheRestAsItIs) {
    const auto config = parse_redis_url("redis://localhost");
    const redis_store_config usual;
    EXPECT_EQ(config.server.host, "localhost");
    EXPECT_EQ(config.server.port, 6379);
    EXPECT_EQ(config.prefix, usual.prefix);
    EXPECT_EQ(config.connect_max, usual.connect_max);
    EXPECT_EQ(config.database, 0u);
    EXPECT_EQ(config.min_replicas, 0u);
    EXPECT_EQ(config.user + config.password + config.domain, "");
    EXPECT_FALSE(config.tls || config.allow_eviction || config.assume_new);
    EXPECT_FALSE(config.allow_unseen_restarts);
    EXPECT_TRUE(config.sentinels.empty());
}

TEST(RedisUrl, SaysEverything) {
    const auto config = parse_redis_url(
        "rediss://me:p%40w@[::1]:7000/3?prefix=shop:&domain=shop&min_replicas=2&allow_eviction=1"
        "&assume_new=true&ca_file=/a&certificate_file=/b&key_file=/c%26d&connect_max_ms=250"
        "&longest_ttl_ms=20000&allow_unseen_restarts=1&busy_poll_max_us=70"
    );
    EXPECT_TRUE(config.tls);
    EXPECT_EQ(config.user, "me");
    EXPECT_EQ(config.password, "p@w");
    EXPECT_EQ(config.server.host, "::1");
    EXPECT_EQ(config.server.port, 7000);
    EXPECT_EQ(config.database, 3u);
    EXPECT_EQ(config.prefix, "shop:");
    EXPECT_EQ(config.domain, "shop");
    EXPECT_EQ(config.min_replicas, 2u);
    EXPECT_TRUE(config.allow_eviction && config.assume_new && config.allow_unseen_restarts);
    EXPECT_EQ(config.ca_file, "/a");
    EXPECT_EQ(config.certificate_file, "/b");
    EXPECT_EQ(config.key_file, "/c&d");
    EXPECT_EQ(config.connect_max, 250ms);
    EXPECT_EQ(config.busy_poll_max, 70us);
}

TEST(RedisUrl, NamesAUnixSocket) {
    const auto config = parse_redis_url("redis+unix:///run/a%20b/redis.sock?database=2&form=queue");
    EXPECT_EQ(config.unix_socket, "/run/a b/redis.sock");
    EXPECT_EQ(config.database, 2u);
    EXPECT_EQ(config.user + config.password, "");
    const auto login = parse_redis_url("redis+unix://me:secret@/redis.sock");
    EXPECT_EQ(login.unix_socket, "/redis.sock");
    EXPECT_EQ(login.user, "me");
    EXPECT_EQ(login.password, "secret");
    for (const char* const bad :
         {"redis+unix://",
          "redis+unix:///",
          "redis+unix:/run/redis.sock",
          "redis+unix://host/run/redis.sock",
          "redis+unix:///redis.sock?database=x",
          "redis+unix:///redis.sock?ca_file=/a",
          "redis://host?database=2"})
        EXPECT_THROW(parse_redis_url(bad), error) << bad;
    const std::string long_path(110, 'x');
    EXPECT_THROW(open_store("redis+unix:///" + long_path), error);
    EXPECT_EQ(open_store("redis+unix:///redis.sock")->traits().scheme, "redis");
}

TEST(RedisUrl, SaysWhatTheConnectionsAreCalled) {
    const auto config =
        parse_redis_url("rediss://h?client_name=shop-7&no_evict=1&tls_name=db.shop");
    EXPECT_EQ(config.client_name, "shop-7");
    EXPECT_EQ(config.tls_name, "db.shop");
    EXPECT_TRUE(config.no_evict);
    EXPECT_EQ(parse_redis_url("redis://h").client_name, "mortise");
    EXPECT_FALSE(parse_redis_url("redis://h").no_evict);
}

TEST(RedisUrl, NamesTheFormOfTheLocks) {
    EXPECT_EQ(parse_redis_url("redis://h").form, redis_form::queue);
    EXPECT_EQ(parse_redis_url("redis://h?form=queue").form, redis_form::queue);
    const auto config = parse_redis_url("redis://h/0?form=single_key&tokens=1");
    EXPECT_EQ(config.form, redis_form::single_key);
    EXPECT_TRUE(config.tokens);
    EXPECT_EQ(config.prefix, "");
    EXPECT_FALSE(parse_redis_url("redis://h?form=single_key").tokens);
    EXPECT_EQ(parse_redis_url("redis+sentinel://h/m?form=single_key").form, redis_form::single_key);
}

TEST(RedisUrl, NamesSentinelsAndWhatTheyCallThePrimary) {
    const auto config = parse_redis_url("redis+sentinel://u:p@a,b:2/main/4?min_replicas=1");
    ASSERT_EQ(config.sentinels.size(), 2u);
    EXPECT_EQ(config.sentinels[0].host, "a");
    EXPECT_EQ(config.sentinels[0].port, 26379);
    EXPECT_EQ(config.sentinels[1].port, 2);
    EXPECT_EQ(config.primary_name, "main");
    EXPECT_EQ(config.database, 4u);
    EXPECT_EQ(config.user, "u");
    EXPECT_EQ(config.password, "p") << "of the server, not of the sentinels";
    EXPECT_EQ(config.sentinel_user + config.sentinel_password, "");
    EXPECT_FALSE(config.tls);
    EXPECT_TRUE(parse_redis_url("rediss+sentinel://a/main").tls);
}

class environment_variable {
public:
    environment_variable(const char* name, const char* value) : name_(name) {
        ::setenv(name, value, 1);
    }
    ~environment_variable() { ::unsetenv(name_); }
    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

private:
    const char* name_;
};

constexpr const char* variable = "MORTISE_TEST_REDIS_URL_SECRET";

TEST(RedisUrl, TakesPasswordsOutOfTheEnvironment) {
    const environment_variable set(variable, "s3cret");
    const std::string name = variable;
    EXPECT_EQ(parse_redis_url("redis://h?password_env=" + name).password, "s3cret");
    const auto config =
        parse_redis_url("redis+sentinel://h/m?sentinel_user=me&sentinel_password_env=" + name);
    EXPECT_EQ(config.sentinel_user, "me");
    EXPECT_EQ(config.sentinel_password, "s3cret");
    EXPECT_EQ(config.password, "");
}

TEST(RedisUrl, TakesPasswordsOutOfFiles) {
    const test::scratch_folder scratch;
    const std::string path = (scratch.path() / "secret").string();
    std::ofstream(path) << " s3cret\r\n";
    EXPECT_EQ(parse_redis_url("redis://h?password_file=" + path).password, " s3cret");
    EXPECT_EQ(
        parse_redis_url("redis+sentinel://h/m?sentinel_password_file=" + path).sentinel_password,
        " s3cret"
    );
}

// The code of the refusal; no password is in it.
error_code refused(const std::string& text, const std::string& remedy) {
    try {
        parse_redis_url(text);
    } catch (const error& wrong) {
        EXPECT_NE(wrong.remedy().find(remedy), std::string::npos) << text << ": " << wrong.what();
        EXPECT_EQ(std::string(wrong.what()).find("s3cret"), std::string::npos) << wrong.what();
        return wrong.code();
    }
    return {};
}

TEST(RedisUrl, RefusesAPasswordThatIsNotThere) {
    const test::scratch_folder scratch;
    const std::string folder = scratch.path().string();
    const std::string empty = folder + "/empty";
    std::ofstream(empty) << "\n";
    ::unsetenv(variable);
    for (const std::string& file : {folder + "/missing", folder, empty}) {
        EXPECT_EQ(refused("redis://h?password_file=" + file, "can be read"), errc::bad_config)
            << file;
    }
    const std::string two_lines = folder + "/two";
    std::ofstream(two_lines) << "s3cret\nand a comment\n";
    EXPECT_EQ(
        refused("redis://h?password_file=" + two_lines, "only the line of the password"),
        errc::bad_config
    );
    const std::string by_variable = std::string("redis://h?password_env=") + variable;
    EXPECT_EQ(refused(by_variable, "set this variable"), errc::bad_config);
    const environment_variable set(variable, "");
    EXPECT_EQ(refused(by_variable, "set this variable"), errc::bad_config);
}

TEST(RedisUrl, RefusesAPasswordThatIsGivenTwice) {
    for (const char* text :
         {"redis://:s3cret@h?password_env=A",
          "redis://:s3cret@h?password_file=/a",
          "redis://h?password_file=/a&password_env=A",
          "redis+sentinel://h/m?sentinel_password_file=/a&sentinel_password_env=A"})
        EXPECT_EQ(refused(text, "give the password once"), errc::bad_url) << text;
}

TEST(RedisUrl, NamesNodesOfACluster) {
    const auto config = parse_redis_url("rediss+cluster://u:p@a,b:2?prefix=shop:");
    ASSERT_EQ(config.cluster.size(), 2u);
    EXPECT_EQ(config.cluster[0].host, "a");
    EXPECT_EQ(config.cluster[0].port, 6379);
    EXPECT_EQ(config.cluster[1].port, 2);
    EXPECT_EQ(config.user, "u");
    EXPECT_TRUE(config.tls);
    EXPECT_EQ(config.prefix, "shop:");
    EXPECT_EQ(refused("redis+cluster://a/1", "no other than 0"), errc::bad_url);
    EXPECT_EQ(parse_redis_url("redis+cluster://a/0").cluster.size(), 1u);
    EXPECT_EQ(config.buckets, 64u);
    EXPECT_EQ(parse_redis_url("redis+cluster://a?buckets=1").buckets, 1u);
    EXPECT_EQ(refused("redis+cluster://a?buckets=0", "1 to 1024"), errc::bad_url);
    EXPECT_EQ(refused("redis+cluster://a?buckets=1025", "1 to 1024"), errc::bad_url);
    EXPECT_EQ(refused("redis://a?buckets=64", "buckets"), errc::bad_url);
}

TEST(RedisUrl, RefusesWhatNamesNoServer) {
    EXPECT_EQ(refused("redis://a,b", "redis+sentinel://"), errc::bad_url);
    EXPECT_EQ(refused("redis+sentinel://a,b", "name the primary"), errc::bad_url);
    EXPECT_EQ(refused("redis+sentinel://a//1", "name the primary"), errc::bad_url);
    EXPECT_EQ(refused("redis:h", "two slashes"), errc::bad_url);
    EXPECT_EQ(refused("http://h", "redis://HOST"), errc::unknown_scheme);
    EXPECT_EQ(refused("Redis://h", "redis://HOST"), errc::unknown_scheme);
    for (const char* database : {"x", "1x", "-1", "+1", "1/", "0/1", "4294967296"}) {
        EXPECT_EQ(refused(std::string("redis://h/") + database, "by its number"), errc::bad_url);
        EXPECT_EQ(
            refused(std::string("redis+sentinel://h/m/") + database, "by its number"), errc::bad_url
        );
    }
}

TEST(RedisUrl, RefusesOptionsThatNobodyKnows) {
    for (const char* option :
         {"password=s3cret", "Prefix=x", "min_replica=1", "database=1", "sentinel_user=me"})
        EXPECT_EQ(refused(std::string("redis://h?") + option, "has no option"), errc::bad_url);
    EXPECT_EQ(refused("redis+sentinel://h/m?sentinel_password=s3cret", "no option"), errc::bad_url);
}

TEST(RedisUrl, RefusesFormsThatThereAreNot) {
    for (const char* bad : {"single", "Single_key", "key", "1"})
        EXPECT_EQ(refused(std::string("redis://h?form=") + bad, "queue or single"), errc::bad_url);
    EXPECT_EQ(refused("redis://h?form=single_key&tokens=maybe", "tokens"), errc::bad_url);
    try {
        open_store("redis://h?form=single_key&min_replicas=1");
        ADD_FAILURE() << "nobody waits for replicas";
    } catch (const error& wrong) {
        EXPECT_EQ(wrong.code(), errc::bad_config);
    }
}

TEST(RedisUrl, RefusesMoreReplicasThanThereCanBe) {
    EXPECT_EQ(parse_redis_url("redis://h?min_replicas=1000").min_replicas, 1'000u);
    // 2^32 would otherwise become none at all.
    for (const char* bad : {"1001", "4294967296", "18446744073709551615"})
        EXPECT_EQ(refused(std::string("redis://h?min_replicas=") + bad, "at most"), errc::bad_url);
    EXPECT_EQ(refused("redis://h?min_replicas=-1", "whole number"), errc::bad_url);
}

TEST(RedisUrl, PollsForAMillisecondAtMost) {
    EXPECT_EQ(parse_redis_url("redis://h?busy_poll_max_us=0").busy_poll_max, 0us);
    EXPECT_TRUE(open_store("redis://h?busy_poll_max_us=1000"));
    for (const char* bad : {"1001", "18446744073709551615"}) {
        const auto url = std::string("redis://h?busy_poll_max_us=") + bad;
        try {
            open_store(url);
            ADD_FAILURE() << bad;
        } catch (const error& wrong) {
            EXPECT_EQ(wrong.code(), errc::bad_config) << bad;
        }
    }
}

TEST(RedisUrl, WithATimeLimitBeyondADayIsRefusedWhenItIsOpened) {
    for (const std::string option : {"connect_max_ms=", "longest_ttl_ms="}) {
        for (const char* bad : {"0", "86400001", "18446744073709551615"}) {
            try {
                open_store("redis://h?" + option + bad);
                ADD_FAILURE() << option << bad;
            } catch (const error& wrong) {
                EXPECT_EQ(wrong.code(), errc::bad_config) << option << bad;
            }
        }
    }
}

}  // namespace
}  // namespace mortise::redis_url_test
