// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres_error.hpp"
#include "postgres/pg_message.hpp"
#include "postgres/pg_opening.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace mortise::test::postgres_error_test {
namespace {

using db::postgres_error;
using db::sqlstate_of;
using postgres_detail::judge_opening;

TEST(PostgresError, KeepsTheState) {
    for (const char* const state :
         {"00001", "23505", "40P01", "42P01", "55P03", "XX002", "ZZZZZ"}) {
        const error_code code = postgres_error(state);
        EXPECT_TRUE(code.failed()) << state;
        EXPECT_EQ(sqlstate_of(code), state);
        EXPECT_NE(code.message().find(state), std::string::npos) << code.message();
        EXPECT_EQ(code.category(), db::postgres_category());
    }
    EXPECT_FALSE(postgres_error("00000").failed());
    for (const char* const wrong : {"", "4000", "400011", "40p01", "40 01"})
        EXPECT_EQ(postgres_error(wrong), postgres_error("XX000")) << wrong;
    EXPECT_EQ(sqlstate_of(errc::busy), "");
}

TEST(PostgresError, KnowsWhatMaySucceedLater) {
    for (const char* const state :
         {"40001", "40P01", "55P03", "53100", "53300", "57P01", "57P02", "57P03", "08006"})
        EXPECT_TRUE(postgres_error(state) == condition::retryable) << state;
    for (const char* const state : {"23505", "42601", "25P02", "57014", "28P01", "40002"})
        EXPECT_FALSE(postgres_error(state) == condition::retryable) << state;
    EXPECT_FALSE(postgres_error("40001") == condition::not_held);
}

TEST(PostgresError, HasAnOwnTextForFrequentStates) {
    std::set<std::string> texts;
    for (const char* const state :
         {"23502", "23503", "23505", "40001", "40P01", "42P01", "57014"}) {
        const std::string text = postgres_error(state).message();
        EXPECT_TRUE(texts.insert(text.substr(0, text.find('('))).second) << text;
    }
    EXPECT_NE(postgres_error("99999").message().find("99999"), std::string::npos);
}

struct opening {
    const char* words;
    error_code code;
};

TEST(PostgresOpening, IsJudgedByTheWordsOfLibpq) {
    const std::vector<opening> all = {
        {"connection to server at \"h\", port 5432 failed: Connection refused\n",
         errc::store_unavailable},
        {"connection failed: FATAL:  password authentication failed for user \"u\"\n",
         errc::access_denied},
        {"connection failed: fe_sendauth: no password supplied\n", errc::access_denied},
        {"FATAL:  no pg_hba.conf entry for host \"1.2.3.4\", user \"u\", database \"d\", no "
         "encryption\n",
         errc::access_denied},
        {"FATAL:  role \"u\" does not exist\n", errc::access_denied},
        {"FATAL:  database \"d\" does not exist\n", postgres_error("3D000")},
        {"FATAL:  the database system is starting up\n", postgres_error("57P03")},
        {"FATAL:  sorry, too many clients already\n", postgres_error("53300")},
        {"server does not support SSL, but SSL was required\n", errc::untrusted_server},
        {"SSL error: certificate verify failed\n", errc::untrusted_server},
        {"server certificate for \"a\" does not match host name \"b\"\n", errc::untrusted_server},
        {"root certificate file \"/no\" does not exist\n", errc::bad_config},
        {"definition of service \"s\" not found\n", errc::bad_config},
        {"service file \"/no\" not found\n", errc::bad_config},
        {"session is read-only\n", errc::read_only_server},
        {"received invalid response to SSL negotiation: H\n", errc::wrong_server},
        {"expected authentication request from server, but received H\n", errc::wrong_server},
    };
    for (const auto& each : all)
        EXPECT_EQ(judge_opening(each.words, {}).code, each.code) << each.words;
    const auto shown = judge_opening("two\n\tlines with s3cret\n", "s3cret");
    EXPECT_EQ(shown.text, "two lines with ***");
}

TEST(PostgresOpening, RefusesAVersionThatIsTooOld) {
    EXPECT_FALSE(postgres_detail::refusal_of_version(130'000));
    EXPECT_FALSE(postgres_detail::refusal_of_version(150'018));
    const auto old = postgres_detail::refusal_of_version(120'017);
    EXPECT_EQ(old.code, errc::wrong_server);
    EXPECT_NE(old.text.find("12.17"), std::string::npos) << old.text;
    EXPECT_EQ(postgres_detail::refusal_of_version(0).code, errc::wrong_server);
}

// The value of a keyword; a dash if it is not there.
std::string value_of(const postgres_detail::pg_keywords& all, const std::string& name) {
    for (std::size_t i = 0; all.names()[i] != nullptr; ++i) {
        if (name == all.names()[i])
            return all.values()[i];
    }
    return "-";
}

TEST(PostgresOpening, TellsLibpqAllSettings) {
    db::postgres_config config;
    config.servers = {{"a.example", 1}, {"/run/pg", 2}, {"b.example", 3}};
    config.user = "u";
    config.database = "d";
    config.password = "p";
    const postgres_detail::pg_keywords plain(config, {{"10.0.0.1", "::1"}, {""}, {"10.0.0.2"}});
    EXPECT_EQ(value_of(plain, "host"), "a.example,a.example,/run/pg,b.example");
    EXPECT_EQ(value_of(plain, "hostaddr"), "10.0.0.1,::1,,10.0.0.2");
    EXPECT_EQ(value_of(plain, "port"), "1,1,2,3");
    EXPECT_EQ(value_of(plain, "user") + value_of(plain, "dbname"), "ud");
    EXPECT_EQ(value_of(plain, "password"), "p");
    EXPECT_EQ(value_of(plain, "sslmode"), "disable");
    EXPECT_EQ(value_of(plain, "target_session_attrs"), "read-write");
    EXPECT_EQ(value_of(plain, "tcp_user_timeout"), "15000");
    EXPECT_EQ(value_of(plain, "keepalives_idle"), "5");

    config.servers = {{"a.example", 1}};
    config.tls = true;
    config.ca_file = "/ca.pem";
    const postgres_detail::pg_keywords safe(config, {{"10.0.0.1"}});
    EXPECT_EQ(value_of(safe, "sslmode"), "verify-full");
    EXPECT_EQ(value_of(safe, "sslrootcert"), "/ca.pem");
    EXPECT_EQ(value_of(safe, "target_session_attrs"), "any") << "a standby will do for reads";
    EXPECT_EQ(value_of(safe, "options"), "-") << "a pooler may refuse them";
    config.ca_file.clear();
    const postgres_detail::pg_keywords by_system(config, {{"10.0.0.1"}});
    EXPECT_NE(value_of(by_system, "sslrootcert"), "") << "libpq's own default is a user's file";
}

TEST(PostgresMessage, RefusesWhatCannotBeSent) {
    using db::bound_sql;
    const std::string with_zero("a\0b", 3);
    const auto code = [](const bound_sql& sql) { return postgres_detail::refusal_of(sql).code; };
    EXPECT_EQ(code(bound_sql("SELECT $1", with_zero)), errc::value_refused);
    EXPECT_EQ(code(bound_sql(with_zero)), errc::value_refused);
    EXPECT_EQ(
        code(bound_sql("SELECT", std::vector<db::column_value>(65'536))), errc::value_refused
    );
    EXPECT_FALSE(code(bound_sql("SELECT $1", db::blob(with_zero))));
    EXPECT_FALSE(code(bound_sql("SELECT", std::vector<db::column_value>(65'535))));
}

}  // namespace
}  // namespace mortise::test::postgres_error_test
