// SPDX-License-Identifier: BSL-1.0
// Logins, TLS and sockets; and that no password is in any text.
#include "support/tls_material.hpp"
#include "unit/mysql/mysql_party.hpp"
#include "unit/txn_http/slow_name.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::test {
namespace {

ended_with ask(mysql_party& party, db::mysql_config config) {
    auto shop = party.open(std::move(config));
    ended_with ended;
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.query("SELECT 1"));
    });
    return ended;
}

TEST(MysqlLogin, WithAWrongPasswordFailsWithoutShowingIt) {
    mysql_party party;
    auto config = party.config();
    config.password = "a-wrong-secret";
    const auto ended = ask(party, config);
    EXPECT_EQ(ended.code, db::mysql_error(1045)) << ended.text;
    EXPECT_NE(ended.text.find("check user and password"), std::string::npos) << ended.text;
    EXPECT_EQ(ended.text.find("a-wrong-secret"), std::string::npos) << ended.text;
    EXPECT_NE(ended.code, condition::retryable);
}

TEST(MysqlLogin, PasswordsAreHiddenInWhatTheServerSays) {
    mysql_party party;
    auto config = party.config();
    auto shop = party.open(config);
    ended_with ended;
    // The server repeats the place of a syntax error.
    party.finish([&]() -> asio::awaitable<void> {
        ended = co_await end_of(shop.query("SELECT FROM '" + config.password + "'"));
    });
    EXPECT_EQ(ended.code, db::mysql_error(1064));
    EXPECT_NE(ended.text.find("***"), std::string::npos) << ended.text;
    EXPECT_EQ(ended.text.find(config.password), std::string::npos) << ended.text;
}

TEST(MysqlLogin, ToADatabaseThatIsNotThereNamesIt) {
    mysql_party party;
    auto config = party.config();
    config.database = "nowhere";
    const auto ended = ask(party, config);
    EXPECT_EQ(ended.code, db::mysql_error(1049)) << ended.text;
    EXPECT_NE(ended.text.find("nowhere"), std::string::npos) << ended.text;
}

TEST(MysqlLogin, ToAHostThatIsNotThereSaysSo) {
    mysql_party party;
    auto config = party.config();
    config.host = "no-such-host.invalid";
    const auto ended = ask(party, config);
    EXPECT_EQ(ended.code, errc::store_unavailable) << ended.text;
    EXPECT_NE(ended.text.find("no-such-host.invalid"), std::string::npos) << ended.text;
}

TEST(MysqlLogin, ToANameThatIsNotFoundInTimeHoldsNobodyUp) {
    mysql_party party;
    slow_name name("slow.example");
    auto config = party.config();
    config.host = "slow.example";
    config.connect_max = std::chrono::milliseconds(500);
    const auto late = ask(party, config);
    EXPECT_EQ(late.code, errc::store_unavailable) << late.text;
    EXPECT_NE(late.text.find("its name is not found in time"), std::string::npos) << late.text;
    EXPECT_EQ(name.asked(), 1u);
    name.answer();
    config.connect_max = std::chrono::seconds(60);
    const auto found = ask(party, config);
    EXPECT_FALSE(found.code) << found.text;
}

TEST(MysqlLogin, ToASilentServerHoldsNobodyUp) {
    mysql_party party;
    asio::ip::tcp::acceptor silent(party.context, {asio::ip::address_v4::loopback(), 0});
    auto config = party.config();
    config.port = silent.local_endpoint().port();
    config.connect_max = std::chrono::milliseconds(50);
    const auto ended = ask(party, config);
    EXPECT_EQ(ended.code, errc::store_unavailable) << ended.text;
}

TEST(MysqlLogin, WorksThroughAUnixSocket) {
    mysql_party party;
    auto config = party.config();
    config.host.clear();
    config.socket = party.server.socket();
    const auto ended = ask(party, config);
    EXPECT_FALSE(ended.code) << ended.text;
    config.socket = "/nowhere/mysqld.sock";
    const auto missing = ask(party, config);
    EXPECT_EQ(missing.code, errc::store_unavailable) << missing.text;
}

TEST(MysqlLogin, AServerWithoutTlsIsNotTrustedIfTlsIsWanted) {
    mysql_party party;
    auto config = party.config();
    config.tls = true;
    config.ca_file = shared_tls().authority();
    const auto ended = ask(party, config);
    EXPECT_EQ(ended.code, errc::untrusted_server) << ended.text;
}

TEST(MysqlLogin, ChecksTheCertificateAndTheNameInIt) {
    mariadb_server server(shared_tls().server());
    mysql_party party(server);
    auto config = party.config();
    config.tls = true;
    config.ca_file = shared_tls().authority();
    auto shop = party.open(config);
    std::string cipher;
    party.finish([&]() -> asio::awaitable<void> {
        auto asking = shop.query("SHOW STATUS LIKE 'Ssl_cipher'");
        const auto found = co_await std::move(asking);
        cipher = found.first().text(1);
    });
    EXPECT_FALSE(cipher.empty());
    config.ca_file.clear();  // those of the system
    const auto unknown = ask(party, config);
    EXPECT_EQ(unknown.code, errc::untrusted_server) << unknown.text;
}

TEST(MysqlLogin, RefusesACertificateOfAnotherName) {
    mariadb_server server(shared_tls().elsewhere());
    mysql_party party(server);
    auto config = party.config();
    config.tls = true;
    config.ca_file = shared_tls().authority();
    const auto ended = ask(party, config);
    EXPECT_EQ(ended.code, errc::untrusted_server) << ended.text;
}

}  // namespace
}  // namespace mortise::test
