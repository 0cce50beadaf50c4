// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres.hpp"
#include "support/scratch_folder.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test::postgres_session_test {
namespace {

using db::blob;
using db::isolation;
using db::postgres_connection;
using db::postgres_error;
using db::query_result;
using db::transaction_options;

class PostgresSession : public testing::Test {
protected:
    template <class Work>
    auto start(Work work, transaction_options options = {}) {
        return session.async_run(std::move(work), options, asio::use_awaitable);
    }
    query_result query(const std::string& text) {
        return world.run(start([text](postgres_connection& on) -> asio::awaitable<query_result> {
            co_return co_await on.query(text);
        }));
    }

    session_world world;
    db::postgres session = world.open();
};

TEST_F(PostgresSession, AStatementThatFailedIsNotCommittedIfTheClosureIgnoresIt) {
    const auto ignores = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        auto failing = on.async_query(
            db::bound_sql("INSERT INTO account VALUES(1, 5)"), asio::as_tuple(asio::deferred)
        );
        const auto outcome = co_await std::move(failing);
        EXPECT_EQ(code_of(std::get<0>(outcome)), postgres_error("23505"));
    };
    EXPECT_EQ(code_of(world.failure_of(start(ignores))), postgres_error("23505"));
    EXPECT_EQ(world.cents(1), "100");
    const auto recovers = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("SAVEPOINT before");
        auto failing = on.async_query(
            db::bound_sql("INSERT INTO account VALUES(1, 5)"), asio::as_tuple(asio::deferred)
        );
        static_cast<void>(co_await std::move(failing));
        co_await on.query("ROLLBACK TO SAVEPOINT before");
        co_await on.query("UPDATE account SET cents = 1 WHERE id = 1");
    };
    EXPECT_EQ(text_of(world.failure_of(start(recovers))), "");
    EXPECT_EQ(world.cents(1), "1");
}

TEST_F(PostgresSession, TellsTheServersWords) {
    const auto mistake = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("INSERT INTO account VALUES($1, 5)", 1);
    };
    const std::string text = text_of(world.failure_of(start(mistake)));
    EXPECT_NE(text.find("account_pkey"), std::string::npos) << text;
    EXPECT_NE(text.find("(id)=(1) already exists"), std::string::npos) << text;
    EXPECT_NE(text.find("23505"), std::string::npos) << text;
}

TEST_F(PostgresSession, ATransactionIsTheSessions) {
    for (const char* const text :
         {"COMMIT",
          "rollback",
          "  /* a /* b */ */ END;",
          "-- x\nBEGIN",
          "ABORT",
          "START TRANSACTION",
          "PREPARE TRANSACTION 'x'",
          "ROLLBACK WORK",
          "SET TRANSACTION READ WRITE",
          "set local transaction_read_only = off",
          "SET SESSION \"transaction_read_only\" = off",
          "RESET transaction_read_only"}) {
        const auto ends = [text](postgres_connection& on) -> asio::awaitable<void> {
            co_await on.query("UPDATE account SET cents = 0");
            auto refused = on.async_query(db::bound_sql(text), asio::as_tuple(asio::deferred));
            const auto outcome = co_await std::move(refused);
            EXPECT_EQ(code_of(std::get<0>(outcome)), errc::transaction_control);
        };
        EXPECT_EQ(code_of(world.failure_of(start(ends))), errc::transaction_control) << text;
        EXPECT_EQ(world.cents(1), "100") << text << ": even if the refusal is ignored";
    }
    for (const char* const text :
         {"ROLLBACK TO x",
          "rollback work to savepoint x",
          "PREPARE p AS SELECT 1",
          "SELECT 'END'",
          "/* BEGIN */ SELECT 1",
          "(SELECT 1)",
          "",
          "RELEASE x",
          "SAVEPOINT x"}) {
        const auto tries = [text](postgres_connection& on) -> asio::awaitable<void> {
            co_await on.query("SAVEPOINT x");
            auto allowed = on.async_query(db::bound_sql(text), asio::as_tuple(asio::deferred));
            const auto outcome = co_await std::move(allowed);
            EXPECT_NE(code_of(std::get<0>(outcome)), errc::transaction_control) << text;
        };
        EXPECT_NE(code_of(world.failure_of(start(tries))), errc::transaction_control) << text;
    }
}

/// A variable of the environment, for as long as it lives.
class variable {
public:
    variable(const char* name, const std::string& value) : name_(name) {
        ::setenv(name, value.c_str(), 1);
    }
    ~variable() { ::unsetenv(name_); }
    variable(const variable&) = delete;
    variable& operator=(const variable&) = delete;

private:
    const char* const name_;
};

// Where a session goes, as whom, and what it may do there, is in its settings alone.
TEST_F(PostgresSession, LibpqsVariablesCountForSecretsOnly) {
    const scratch_folder folder;
    const auto write = [&](const char* name, const std::string& text) {
        const auto path = folder.path() / name;
        std::ofstream(path) << text;
        std::filesystem::permissions(path, std::filesystem::perms::owner_read);
        return path.string();
    };
    auto by_name = world.config();
    const std::string secret = by_name.password;
    by_name.password.clear();
    auto by_socket = world.config();
    session_kind::place_at_socket(by_socket, world.server());
    const auto failure = [&](const db::postgres_config& of) {
        auto opened = world.open(of);
        auto failing = opened.async_query(
            db::bound_sql("UPDATE account SET cents = cents"), asio::use_awaitable
        );
        return world.failure_of(std::move(failing));
    };
    {
        const variable passfile("PGPASSFILE", write("pass", "*:*:*:*:" + secret));
        EXPECT_EQ(text_of(failure(by_name)), "");
    }
    const variable password("PGPASSWORD", secret);
    EXPECT_EQ(text_of(failure(by_name)), "");
    const std::string elsewhere = "host=nowhere.example\nhostaddr=192.0.2.1\nport=1\n"
                                  "user=nobody\ndbname=nothing\nsslmode=require\n"
                                  "options=-c default_transaction_read_only=on\n";
    const std::string services = write("services", "[ours]\n" + elsewhere);
    {
        const variable file("PGSERVICEFILE", services);
        const variable service("PGSERVICE", "ours");
        EXPECT_EQ(text_of(failure(by_name)), "");
        EXPECT_EQ(text_of(failure(by_socket)), "");
        const variable unknown("PGSERVICE", "theirs");
        EXPECT_EQ(code_of(failure(by_name)), errc::bad_config);
    }
    const variable host("PGHOST", "nowhere.example");
    const variable address("PGHOSTADDR", "192.0.2.1");
    const variable port("PGPORT", "1");
    const variable user("PGUSER", "nobody");
    const variable database("PGDATABASE", "nothing");
    const variable mode("PGSSLMODE", "require");
    const variable target("PGTARGETSESSIONATTRS", "standby");
    const variable encoding("PGCLIENTENCODING", "LATIN1");
    const variable options("PGOPTIONS", "-c default_transaction_read_only=on");
    EXPECT_EQ(text_of(failure(by_name)), "");
    EXPECT_EQ(text_of(failure(by_socket)), "");
}

// A lost commit of such a transaction is told as one that had no effect.
TEST_F(PostgresSession, AReadOnlyTransactionStaysOne) {
    db::transaction_options options;
    options.read_only = true;
    for (const char* const text :
         {"SET transaction_read_only TO DEFAULT",
          "SELECT set_config('transaction_read_only', 'off', true)",
          "SELECT set_config('transaction_read_only', 'off', false)",
          "DO $$ BEGIN SET LOCAL transaction_read_only = off; END $$",
          "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
          "SET default_transaction_read_only = off",
          "RESET ALL"}) {
        const auto tries = [text](postgres_connection& on) -> asio::awaitable<void> {
            auto changing = on.async_query(db::bound_sql(text), asio::as_tuple(asio::deferred));
            co_await std::move(changing);
            co_await on.query("UPDATE account SET cents = 0");
        };
        EXPECT_NE(text_of(world.failure_of(start(tries, options))), "") << text;
        EXPECT_EQ(world.cents(1), "100") << text;
    }
}

TEST_F(PostgresSession, AClosureWithoutStatementsCostsNothing) {
    const int value =
        world.run(start([](postgres_connection&) -> asio::awaitable<int> { co_return 7; }));
    EXPECT_EQ(value, 7);
    EXPECT_EQ(session.stats().committed, 0u);
}

TEST_F(PostgresSession, HasTheTypesOfRows) {
    const auto found = query(
        "SELECT NULL AS nothing, true AS yes, 32767::int2 AS small, (-2147483648)::int4 AS middle,"
        " 9223372036854775807 AS large, (-9223372036854775808)::int8 AS least,"
        " 0.1::float8 AS real, 'NaN'::float8 AS no_number, '-Infinity'::float4 AS endless,"
        " '\\x00ff41'::bytea AS bytes, ''::bytea AS no_bytes, 'a\xc3\xa4'::text AS text,"
        " 12.50::numeric AS price, '2026-11-25 22:30:00+00'::timestamptz AT TIME ZONE 'UTC' AS at,"
        " '{\"a\": 1}'::jsonb AS json, ARRAY[1, 2] AS list, 4294967295::oid AS number"
    );
    const db::row& row = found.first();
    EXPECT_TRUE(row.is_null("nothing"));
    EXPECT_EQ(row.integer("yes"), 1);
    EXPECT_EQ(row.integer("small"), 32'767);
    EXPECT_EQ(row.integer("middle"), std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(row.integer("large"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(row.integer("least"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(row.real("real"), 0.1);
    EXPECT_NE(row.real("no_number"), row.real("no_number"));
    EXPECT_EQ(row.real("endless"), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(row.bytes("bytes"), std::string("\0\xff\x41", 3));
    EXPECT_EQ(row.bytes("no_bytes"), "");
    EXPECT_EQ(row.text("text"), "a\xc3\xa4");
    EXPECT_EQ(row.text("price"), "12.50");
    EXPECT_EQ(row.text("at"), "2026-11-25 22:30:00");
    EXPECT_EQ(row.text("json"), "{\"a\": 1}");
    EXPECT_EQ(row.text("list"), "{1,2}");
    EXPECT_EQ(row.integer("number"), 4'294'967'295);
}

TEST_F(PostgresSession, GivesValuesBackAsTheyWereBound) {
    world.run(start([](postgres_connection& on) -> asio::awaitable<void> {
        const double no_number = -std::numeric_limits<double>::quiet_NaN();
        const auto found = co_await on.query("SELECT $1::float8 AS it", no_number);
        EXPECT_NE(found.first().real("it"), found.first().real("it"));
    }));
    world.run(start([](postgres_connection& on) -> asio::awaitable<void> {
        const std::string bytes("\0\x01\xff", 3);
        const auto found = co_await on.query(
            "SELECT $1::int8 AS whole, $2::float8 AS real, $3::text AS text, $4::bytea AS bytes,"
            " $5::int8 AS nothing, $6::text AS empty, $7::bool AS yes, $8::numeric AS price",
            std::numeric_limits<std::int64_t>::min(),
            1e-300,
            "quote ' and \\ and $1",
            blob(bytes),
            nullptr,
            "",
            true,
            "0.10"
        );
        const db::row& row = found.first();
        EXPECT_EQ(row.integer("whole"), std::numeric_limits<std::int64_t>::min());
        EXPECT_EQ(row.real("real"), 1e-300);
        EXPECT_EQ(row.text("text"), "quote ' and \\ and $1");
        EXPECT_EQ(row.bytes("bytes"), bytes);
        EXPECT_TRUE(row.is_null("nothing"));
        EXPECT_EQ(row.text("empty"), "");
        EXPECT_EQ(row.integer("yes"), 1);
        EXPECT_EQ(row.text("price"), "0.10");
    }));
    const auto with_zero = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 5 WHERE id = 1");
        co_await on.query("SELECT $1::text", std::string("a\0b", 3));
    };
    EXPECT_EQ(code_of(world.failure_of(start(with_zero))), errc::value_refused);
    const auto first = [](postgres_connection& on) -> asio::awaitable<void> {
        auto refused = on.async_query(
            db::bound_sql("SELECT $1::text", std::string("a\0b", 3)), asio::as_tuple(asio::deferred)
        );
        static_cast<void>(co_await std::move(refused));
        co_await on.query("UPDATE account SET cents = 5 WHERE id = 2");
        throw std::runtime_error("no");
    };
    EXPECT_EQ(text_of(world.failure_of(start(first))), "no");
    EXPECT_EQ(world.cents(2), "100") << "what was refused has begun no transaction, the next did";
}

TEST_F(PostgresSession, ReadsOnlyIfItIsToldTo) {
    transaction_options options;
    options.read_only = true;
    EXPECT_EQ(code_of(world.failure_of(start(add_cents(1, 1), options))), postgres_error("25006"));
    for (const auto& [level, name] : std::vector<std::pair<isolation, std::string>>{
             {isolation::as_configured, "read committed"},
             {isolation::read_committed, "read committed"},
             {isolation::repeatable_read, "repeatable read"},
             {isolation::serializable, "serializable"}}) {
        options.level = level;
        const auto look = [](postgres_connection& on) -> asio::awaitable<std::string> {
            const auto found = co_await on.query("SHOW transaction_isolation");
            co_return found.first().text(0);
        };
        EXPECT_EQ(world.run(start(look, options)), name);
    }
}

/// A closure that another transaction always comes ahead of, as long as it may.
auto overtaken(session_world& world, int& attempts, int conflicts) {
    return [&world, &attempts, conflicts](postgres_connection& on) -> asio::awaitable<void> {
        const auto found = co_await on.query("SELECT cents FROM account WHERE id = 1");
        if (++attempts <= conflicts)
            world.sql("UPDATE account SET cents = cents + 1 WHERE id = 1");
        const auto cents = found.first().integer(0);
        co_await on.query("UPDATE account SET cents = $1 WHERE id = 1", cents * 2);
    };
}

TEST_F(PostgresSession, RepeatsAClosureAfterAConflictOnlyIfItIsToldTo) {
    int attempts = 0;
    transaction_options options;
    options.level = isolation::repeatable_read;
    const auto why = world.failure_of(start(overtaken(world, attempts, 9), options));
    EXPECT_EQ(code_of(why), postgres_error("40001"));
    EXPECT_TRUE(code_of(why) == condition::retryable);
    EXPECT_EQ(attempts, 1);
    attempts = 0;
    options.attempts_max = 4;
    EXPECT_EQ(text_of(world.failure_of(start(overtaken(world, attempts, 2), options))), "");
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(world.cents(1), "206") << "(100 + 1 + 2) * 2: it has read anew each time";
    EXPECT_EQ(session.stats().repeated, 2u);
    attempts = 0;
    EXPECT_EQ(
        code_of(world.failure_of(start(overtaken(world, attempts, 9), options))),
        postgres_error("40001")
    );
    EXPECT_EQ(attempts, 4);
    attempts = 0;
    const auto other = [&attempts](postgres_connection& on) -> asio::awaitable<void> {
        ++attempts;
        co_await on.query("INSERT INTO account VALUES(1, 1)");
    };
    EXPECT_EQ(code_of(world.failure_of(start(other, options))), postgres_error("23505"));
    EXPECT_EQ(attempts, 1) << "that would fail again";
}

// Runs a statement that fails, and undoes it alone.
asio::awaitable<void> fail_aside(postgres_connection& on, std::string text) {
    co_await on.query("SAVEPOINT aside");
    auto failing = on.async_query(db::bound_sql(std::move(text)), asio::as_tuple(asio::deferred));
    const auto outcome = co_await std::move(failing);
    EXPECT_TRUE(std::get<0>(outcome));
    co_await on.query("ROLLBACK TO SAVEPOINT aside");
}

constexpr const char* conflict = "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$";

TEST_F(PostgresSession, AFailureThatASavepointHasUndoneDecidesNothing) {
    int attempts = 0;
    transaction_options options;
    options.attempts_max = 3;
    options.pause.first = options.pause.max = std::chrono::milliseconds(1);
    const auto has_its_own = [&](postgres_connection& on) -> asio::awaitable<void> {
        ++attempts;
        co_await fail_aside(on, conflict);
        throw std::runtime_error("no");
    };
    EXPECT_EQ(text_of(world.failure_of(start(has_its_own, options))), "no");
    EXPECT_EQ(attempts, 1) << "the server has not undone the transaction";
    attempts = 0;
    const auto conflicts_later = [&](postgres_connection& on) -> asio::awaitable<void> {
        co_await fail_aside(on, "SELECT 1 / 0");
        if (++attempts < 3)
            co_await on.query(conflict);
    };
    EXPECT_EQ(text_of(world.failure_of(start(conflicts_later, options))), "");
    EXPECT_EQ(attempts, 3);
    const auto ignores_later = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await fail_aside(on, "SELECT 1 / 0");
        auto failing =
            on.async_query(db::bound_sql("SELECT nothing"), asio::as_tuple(asio::deferred));
        static_cast<void>(co_await std::move(failing));
    };
    EXPECT_EQ(code_of(world.failure_of(start(ignores_later))), postgres_error("42703"));
}

TEST_F(PostgresSession, ACommitCanFail) {
    world.sql("ALTER TABLE account ADD COLUMN partner int REFERENCES account DEFERRABLE"
              " INITIALLY DEFERRED");
    const auto dangling = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET partner = 77 WHERE id = 1");
    };
    EXPECT_EQ(code_of(world.failure_of(start(dangling))), postgres_error("23503"));
    EXPECT_EQ(session.stats().rolled_back, 1u);
    EXPECT_EQ(session.stats().commits_unknown, 0u);
}

TEST_F(PostgresSession, SettingsOfATransactionEndWithIt) {
    const auto sets = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("SET LOCAL lock_timeout = '7s'");
    };
    world.run(start(sets));
    EXPECT_EQ(query("SHOW lock_timeout").first().text(0), "0");
}

TEST_F(PostgresSession, RefusesSettingsOutsideOfTheirLimits) {
    using config = db::postgres_config;
    using std::chrono::milliseconds;
    EXPECT_TRUE(world.refuses([](config& c) { c.servers.clear(); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.servers[0].host.clear(); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.servers[0].host = "a,b"; }));
    EXPECT_TRUE(world.refuses([](config& c) { c.servers[0].port = 0; }));
    EXPECT_TRUE(world.refuses([](config& c) { c.password = std::string("a\0b", 3); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.unacknowledged_max = milliseconds(999); }));
}

TEST(PostgresXa, AServerThatCannotPrepareSaysWhatToDo) {
    postgres_server server({"max_prepared_transactions=0"});
    session_world world(server);
    const auto session =
        std::make_shared<db::postgres>(world.context.get_executor(), world.config());
    const auto work = [](postgres_connection&, const txn::call&) -> asio::awaitable<txn::reply> {
        co_return txn::reply::done();
    };
    const auto participant = txn::xa_postgres(session, work, 1);
    txn::call request;
    request.gid = {1, 1};
    request.branch = request.attempt = 1;
    for (const auto& failure :
         {world.failure_of(participant->carry_out(request)),
          world.failure_of(participant->check())}) {
        EXPECT_EQ(code_of(failure), errc::wrong_server);
        EXPECT_NE(text_of(failure).find("set max_prepared_transactions"), std::string::npos)
            << text_of(failure);
    }
}

}  // namespace
}  // namespace mortise::test::postgres_session_test
