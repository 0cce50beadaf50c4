// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres_config.hpp"
#include "mortise/error.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace mortise::test::postgres_url_test {
namespace {

using db::parse_postgres_url;

error_code refused(const std::string& url) {
    try {
        parse_postgres_url(url);
    } catch (const error& why) {
        EXPECT_EQ(std::string(why.what()).find("s3cret"), std::string::npos) << why.what();
        return why.code();
    }
    return {};
}

TEST(PostgresUrl, HasServersLoginAndDatabase) {
    const auto plain = parse_postgres_url("postgresql://localhost");
    ASSERT_EQ(plain.servers.size(), 1u);
    EXPECT_EQ(plain.servers[0].host, "localhost");
    EXPECT_EQ(plain.servers[0].port, 5432);
    EXPECT_EQ(plain.user + plain.database + plain.password, "");
    EXPECT_FALSE(plain.tls);
    const auto full = parse_postgres_url("postgres://u%40x:p%2Fw@a:1,[::1]:2/shop%20a");
    ASSERT_EQ(full.servers.size(), 2u);
    EXPECT_EQ(full.servers[1].host, "::1");
    EXPECT_EQ(full.servers[1].port, 2);
    EXPECT_EQ(full.user, "u@x");
    EXPECT_EQ(full.password, "p/w");
    EXPECT_EQ(full.database, "shop a");
    const auto local = parse_postgres_url("postgresql://%2Frun%2Fpg/shop");
    EXPECT_EQ(local.servers[0].host, "/run/pg");
}

TEST(PostgresUrl, HasOptions) {
    const auto config = parse_postgres_url(
        "postgresql://h/d?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&passfile=/p"
        "&application_name=shop&connections_max=3&statements_max=0&connect_max_ms=7&wait_max_ms=9"
    );
    EXPECT_TRUE(config.tls);
    EXPECT_EQ(config.ca_file, "/ca");
    EXPECT_EQ(config.certificate_file, "/c");
    EXPECT_EQ(config.key_file, "/k");
    EXPECT_EQ(config.passfile, "/p");
    EXPECT_EQ(config.application_name, "shop");
    EXPECT_EQ(config.connections_max, 3u);
    EXPECT_EQ(config.statements_max, 0u);
    EXPECT_EQ(config.connect_max, std::chrono::milliseconds(7));
    EXPECT_EQ(config.wait_max, std::chrono::milliseconds(9));
    EXPECT_TRUE(parse_postgres_url("postgresql://h?sslrootcert=/ca").tls);
    EXPECT_FALSE(parse_postgres_url("postgresql://h?sslmode=disable").tls);
}

TEST(PostgresUrl, TakesThePasswordFromFileOrEnvironment) {
    const scratch_folder scratch;
    const std::string path = scratch.path() / "secret";
    std::ofstream(path) << "s3cret\n";
    EXPECT_EQ(parse_postgres_url("postgresql://h?password_file=" + path).password, "s3cret");
    ::setenv("MORTISE_TEST_PASSWORD", "from outside", 1);
    EXPECT_EQ(
        parse_postgres_url("postgresql://h?password_env=MORTISE_TEST_PASSWORD").password,
        "from outside"
    );
    EXPECT_EQ(refused("postgresql://h?password_env=MORTISE_TEST_NONE"), errc::bad_config);
    EXPECT_EQ(refused("postgresql://u:s3cret@h?password_file=" + path), errc::bad_url);
}

TEST(PostgresUrl, RefusesWhatItDoesNotUnderstandOrCannotDoSafely) {
    EXPECT_EQ(refused("mysql://h"), errc::unknown_scheme);
    EXPECT_EQ(refused("postgresql:h"), errc::bad_url);
    EXPECT_EQ(refused("postgresql://u:s3cret@"), errc::bad_url);
    EXPECT_EQ(refused("postgresql://u:s3cret@h:0"), errc::bad_url);
    EXPECT_EQ(refused("postgresql://u:s3cret@h?option=1"), errc::bad_url);
    for (const char* const mode : {"allow", "prefer", "require", "verify-ca"})
        EXPECT_EQ(refused(std::string("postgresql://u:s3cret@h?sslmode=") + mode), errc::bad_url);
}

}  // namespace
}  // namespace mortise::test::postgres_url_test
