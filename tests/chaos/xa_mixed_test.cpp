// SPDX-License-Identifier: BSL-1.0
// Transactions over PostgreSQL, MariaDB and SQLite at once: two branches that are prepared, and one
// that is tried, confirmed and cancelled.
#include "chaos/cli_process.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/sqlite_participant.hpp"
#include "mortise/txn/xa_mysql.hpp"
#include "mortise/txn/xa_postgres.hpp"
#include "support/awaited.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/scratch_folder.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise::test::xa_mixed_test {
namespace {

namespace asio = boost::asio;

constexpr std::size_t calls_at_once = 4;
constexpr const char* take = "UPDATE account SET cents = cents - 5 WHERE id = 1 AND cents >= 5";

template <class Connection>
asio::awaitable<txn::reply> take_five(Connection& on, const txn::call&) {
    auto taking = on.query(take);
    const auto taken = co_await std::move(taking);
    co_return taken.affected == 1 ? txn::reply::done() : txn::reply::refused("too little");
}

class XaMixed : public testing::Test {
protected:
    XaMixed() {
        for (const char* const each :
             {"CREATE TABLE account(id INT PRIMARY KEY, cents BIGINT NOT NULL)",
              "INSERT INTO account VALUES (1, 10)"}) {
            postgres.run(each, postgres_database);
            mariadb.run(each, mariadb_database);
        }
        open();
    }

    void open() {
        coordinator.reset();
        db::sqlite_config local;
        local.path = folder.path() / "shop.db";
        const auto at = context.get_executor();
        auto shop = std::make_shared<db::sqlite>(at, local);
        const auto note = [this](int state) {
            return [this, state](db::connection&, const txn::call&) {
                sqlite_state = state;
                if (state == 1 && sqlite_refuses)
                    return txn::reply::refused("closed");
                return txn::reply::done();
            };
        };
        txn::coordinator_config config;
        config.log = folder.path() / "log.db";
        at_postgres = std::make_shared<db::postgres>(at, db::parse_postgres_url(postgres_url));
        at_mariadb = std::make_shared<db::mysql>(at, db::parse_mysql_url(mariadb_url));
        config.participants.emplace(
            "postgres",
            txn::xa_postgres(at_postgres, &take_five<db::postgres_connection>, calls_at_once)
        );
        config.participants.emplace(
            "mariadb", txn::xa_mysql(at_mariadb, &take_five<db::mysql_connection>, calls_at_once)
        );
        config.deadline =
            std::chrono::milliseconds(200);  // of orphans: transactions have their own
        config.prepared_look_first = std::chrono::milliseconds(20);
        config.prepared_look_max = std::chrono::milliseconds(100);
        config.participants.emplace(
            "sqlite",
            std::make_shared<txn::sqlite_participant>(std::move(shop), note(1), note(2), note(3))
        );
        coordinator.emplace(at, std::move(config));
    }

    /// Runs a transaction with a branch at each, to the end of all branches.
    txn::outcome run_all() {
        txn::transaction transaction;
        for (const char* const each : {"postgres", "mariadb", "sqlite"})
            transaction.add(each, "");
        transaction.deadline(std::chrono::minutes(1));
        auto running = coordinator->async_run(std::move(transaction), asio::use_future);
        EXPECT_TRUE(comes(running));
        const auto outcome = running.get();
        auto settling = coordinator->async_settle(outcome.gid(), asio::use_future);
        EXPECT_TRUE(comes(settling));
        return outcome;
    }
    template <class Future>
    bool comes(Future& future) {
        const auto end = clock::now() + std::chrono::seconds(60);
        while (future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
            if (clock::now() > end)
                return false;
            context.restart();
            context.run_one_for(std::chrono::milliseconds(10));
        }
        return true;
    }
    /// What is left at PostgreSQL and at MariaDB, and the last call of SQLite's branch.
    std::string state() {
        EXPECT_EQ(postgres.run("SELECT gid FROM pg_prepared_xacts", postgres_database), "");
        EXPECT_EQ(mariadb.run("XA RECOVER", mariadb_database), "");
        const std::string look = "SELECT cents FROM account";
        return postgres.run(look, postgres_database) + " " + mariadb.run(look, mariadb_database) +
               " " + std::to_string(sqlite_state);
    }

    /// Leaves something prepared under this name, as somebody who has died.
    template <class Session>
    void leave_prepared(Session& at, const db::prepared_name& name) {
        using connection = std::conditional_t<
            std::is_same_v<Session, db::postgres>,
            db::postgres_connection,
            db::mysql_connection>;
        auto preparing = at.async_prepare(name, &work<connection>, {}, asio::use_future);
        ASSERT_TRUE(comes(preparing));
        EXPECT_TRUE(preparing.get());
    }
    template <class Connection>
    static asio::awaitable<bool> work(Connection& on) {
        auto working = on.query("UPDATE account SET cents = 0");
        co_await std::move(working);
        co_return true;
    }
    std::string shown(std::vector<std::string> more) const {
        std::vector<std::string> arguments = {
            built_program("tools/mortise"),
            "txn",
            "orphans",
            "--log",
            (folder.path() / "log.db").string(),
            postgres_url,
            mariadb_url};
        arguments.insert(arguments.end(), more.begin(), more.end());
        cli_process program(folder.path(), arguments, {});
        EXPECT_EQ(program.wait(), 0) << program.err();
        return program.out();
    }

    postgres_server& postgres = shared_postgres();
    mariadb_server& mariadb = shared_mariadb();
    const std::string postgres_database = postgres.create_database();
    const std::string mariadb_database = mariadb.create_database();
    const std::string postgres_url = postgres.url(postgres_database);
    const std::string mariadb_url = mariadb.url(mariadb_database);
    const scratch_folder folder;
    asio::io_context context{1};
    bool sqlite_refuses = false;
    int sqlite_state = 0;
    std::shared_ptr<db::postgres> at_postgres;
    std::shared_ptr<db::mysql> at_mariadb;
    std::optional<txn::coordinator> coordinator;
};

TEST_F(XaMixed, OneDecisionGovernsAllKindsOfBranches) {
    EXPECT_TRUE(run_all().confirmed());
    EXPECT_EQ(state(), "5 5 2");
    sqlite_refuses = true;
    EXPECT_TRUE(run_all().cancelled());
    EXPECT_EQ(state(), "5 5 1") << "a branch that refused its try needs no cancel";
    sqlite_refuses = false;
    mariadb.run("UPDATE account SET cents = 0", mariadb_database);
    EXPECT_EQ(run_all().text(), "too little");
    EXPECT_EQ(state(), "5 0 3");
}

// Names as a log leaves them that has lost its last transactions, and as another log leaves them.
TEST_F(XaMixed, OrphansAreShownAndEndedAndThoseOfOthersAreLeft) {
    const auto known = run_all();
    ASSERT_TRUE(known.confirmed());
    txn::call lost;
    lost.gid = {known.gid().log, known.gid().number + 1'000};
    lost.term = 7;
    lost.branch = 1;
    auto foreign = lost;
    ++foreign.gid.log;
    coordinator.reset();
    leave_prepared(*at_mariadb, txn::prepared_name_of(lost));
    leave_prepared(*at_postgres, txn::prepared_name_of(foreign));
    EXPECT_EQ(mariadb.run("SELECT cents FROM account", mariadb_database), "5");

    const auto text = shown({});
    EXPECT_NE(text.find(lost.gid.text()), std::string::npos) << text;
    EXPECT_NE(text.find("unknown"), std::string::npos) << text;
    EXPECT_EQ(text.find(foreign.gid.text()), std::string::npos) << text;
    const auto json = shown({"--json"});
    EXPECT_NE(
        json.find("{\"gid\":\"" + lost.gid.text() + "\",\"branch\":1,\"transaction\":\"unknown\""),
        std::string::npos
    ) << json;

    open();
    const auto ended = [&] {
        context.restart();
        context.run_one_for(std::chrono::milliseconds(10));
        return coordinator->stats().orphans_ended == 1;
    };
    ASSERT_TRUE(eventually(ended));
    EXPECT_EQ(mariadb.run("XA RECOVER", mariadb_database), "");
    EXPECT_EQ(shown({"--all"}).find(lost.gid.text()), std::string::npos);
    EXPECT_NE(postgres.run("SELECT gid FROM pg_prepared_xacts", postgres_database), "");
    auto cleaning = at_postgres->async_finish(
        txn::prepared_name_of(foreign), db::prepared_end::roll_back, asio::use_future
    );
    ASSERT_TRUE(comes(cleaning));
    EXPECT_TRUE(cleaning.get());
    EXPECT_TRUE(run_all().confirmed()) << "nothing holds the rows";
    EXPECT_EQ(state(), "0 0 2");
}

TEST(XaExample, MovesMoneyFromPostgresToMariadb) {
    auto& postgres = shared_postgres();
    auto& mariadb = shared_mariadb();
    const scratch_folder folder;
    const auto output = folder.path() / "output";
    child_program program(
        {"env",
         "--chdir=" + folder.path().string(),
         built_program("examples/22_xa_transfer"),
         postgres.url(postgres.create_database()),
         mariadb.url(mariadb.create_database())},
        output
    );
    EXPECT_EQ(program.wait(std::chrono::seconds(60)), 0);
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    EXPECT_EQ(
        text.str(),
        "30 euros: confirmed, alice keeps 70\n900 euros: cancelled, not enough money\nalice has "
        "70, bob has 130\n"
    );
}

}  // namespace
}  // namespace mortise::test::xa_mixed_test
