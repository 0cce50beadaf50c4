// SPDX-License-Identifier: BSL-1.0
// Transactions over PostgreSQL, MariaDB and SQLite at once: two branches that are prepared, and one
// that is tried, confirmed and cancelled.
#include "mortise/db/sqlite.hpp"
#include "mortise/txn/coordinator.hpp"
#include "mortise/txn/sqlite_participant.hpp"
#include "mortise/txn/xa_mysql.hpp"
#include "mortise/txn/xa_postgres.hpp"
#include "support/awaited.hpp"
#include "support/built_program.hpp"
#include "support/child_program.hpp"
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
#include <utility>

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
        config.participants.emplace(
            "postgres",
            txn::xa_postgres(
                std::make_shared<db::postgres>(
                    at, db::parse_postgres_url(postgres.url(postgres_database))
                ),
                &take_five<db::postgres_connection>,
                calls_at_once
            )
        );
        config.participants.emplace(
            "mariadb",
            txn::xa_mysql(
                std::make_shared<db::mysql>(at, db::parse_mysql_url(mariadb.url(mariadb_database))),
                &take_five<db::mysql_connection>,
                calls_at_once
            )
        );
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

    postgres_server& postgres = shared_postgres();
    mariadb_server& mariadb = shared_mariadb();
    const std::string postgres_database = postgres.create_database();
    const std::string mariadb_database = mariadb.create_database();
    const scratch_folder folder;
    asio::io_context context{1};
    bool sqlite_refuses = false;
    int sqlite_state = 0;
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
        "30 euros: confirmed\n900 euros: cancelled, not enough money\nalice has 70, bob has 130\n"
    );
}

}  // namespace
}  // namespace mortise::test::xa_mixed_test
