// SPDX-License-Identifier: BSL-1.0
// What shares a transaction, and that it does no harm to its neighbours.
#include "mortise/fence/sqlite.hpp"
#include "mortise/token_domain.hpp"
#include "unit/db/db_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test::db_batch_test {
namespace {

using db::connection;
using db::durability;

class DbBatch : public testing::Test {
protected:
    /// Queues work whose code is kept, in order.
    template <class Work>
    void queue(Work work, durability how = durability::force) {
        const std::size_t place = codes.size();
        codes.emplace_back(asio::error::in_progress);
        session.async_run(std::move(work), how, [this, place](error_code ec, auto&&...) {
            codes[place] = ec;
        });
    }

    void settle() {
        world.context.restart();
        world.context.run();
    }

    db_world world;
    db::sqlite session = world.open();
    std::vector<error_code> codes;
};

void run_raw(connection& on, const char* sql) {
    ::sqlite3_exec(on.handle(), sql, nullptr, nullptr, nullptr);  // and never mind the answer
}

TEST_F(DbBatch, WhatWasQueuedDuringACommitSharesTheNextOne) {
    {
        write_blocker block(session);
        for (int i = 0; i < 10; ++i)
            queue(add_cents(1, 1));
    }
    settle();
    EXPECT_EQ(codes, std::vector<error_code>(10));
    const auto stats = session.stats();
    EXPECT_EQ(stats.batches, 2u);
    EXPECT_EQ(stats.batches_forced, 1u) << "the blocker is lazy";
    EXPECT_EQ(stats.batch_largest, 10u);
    EXPECT_EQ(stats.transactions, 11u);
    EXPECT_EQ(stats.forced, 10u);
    EXPECT_EQ(world.cents(1), 110);
}

TEST_F(DbBatch, ABatchHasABound) {
    auto config = world.config();
    config.batch_max = 4;
    session = world.open(config);
    {
        write_blocker block(session);
        for (int i = 0; i < 10; ++i)
            queue(add_cents(1, 1));
    }
    settle();
    EXPECT_EQ(session.stats().batches, 4u) << "the blocker; four, four and two";
    EXPECT_EQ(session.stats().batch_largest, 4u);
}

TEST_F(DbBatch, CompletesOnlyWhenItIsCommitted) {
    std::int64_t seen = 0;
    session.async_run(add_cents(1, 5), durability::force, [&](error_code ec) {
        EXPECT_FALSE(ec);
        seen = world.cents(1);
    });
    EXPECT_EQ(seen, 0) << "completed inline";
    settle();
    EXPECT_EQ(seen, 105);
}

TEST_F(DbBatch, AFailureIsRolledBackAlone) {
    {
        write_blocker block(session);
        queue(add_cents(1, 1));
        queue([](connection& on) {
            add_cents(2, 1)(on);
            throw std::runtime_error("no");
        });
        queue([](connection& on) -> result<int> {
            add_cents(2, 1)(on);
            return error_code(asio::error::no_data);
        });
        queue(add_cents(2, -1'000));
        queue([](connection& on) -> result<void> {
            add_cents(3, 1)(on);
            return {};
        });
    }
    settle();
    ASSERT_EQ(codes.size(), 5u);
    EXPECT_EQ(codes[0], error_code());
    EXPECT_EQ(codes[1], coro::errc::work_threw);
    EXPECT_EQ(codes[2], asio::error::no_data);
    EXPECT_EQ(codes[3], db::sqlite_error(SQLITE_CONSTRAINT_CHECK)) << codes[3];
    EXPECT_EQ(codes[4], error_code());
    EXPECT_EQ(world.cents(1), 101);
    EXPECT_EQ(world.cents(2), 100);
    EXPECT_EQ(world.cents(3), 101);
    EXPECT_EQ(session.stats().batches, 2u);
    EXPECT_EQ(session.stats().transactions, 3u);
    EXPECT_EQ(session.stats().rolled_back, 3u);
}

TEST_F(DbBatch, GivesWhatTheClosureReturns) {
    world.run([](db::sqlite& on) -> asio::awaitable<void> {
        const int plain = co_await on.async_run([](connection&) { return 7; });
        EXPECT_EQ(plain, 7);
        const std::string taken_apart =
            co_await on.async_run([](connection&) -> result<std::string> { return "text"; });
        EXPECT_EQ(taken_apart, "text");
        try {
            co_await on.async_run([](connection&) -> result<int> {
                return error_code(asio::error::no_data);
            });
            ADD_FAILURE() << "no exception";
        } catch (const boost::system::system_error& e) {
            EXPECT_EQ(e.code(), asio::error::no_data);
        }
        auto got = co_await on.async_run(
            [](connection&) -> result<int> { return error_code(asio::error::no_data); },
            durability::lazy,
            asio::as_tuple(asio::deferred)
        );
        const auto& [code, value] = got;
        EXPECT_EQ(code, asio::error::no_data);
        EXPECT_EQ(value, 0);
    }(session));
}

TEST_F(DbBatch, ACodeCanBeHadWithoutNamingTheDurability) {
    const auto fails = [](connection& on) {
        on.run("INSERT INTO nowhere VALUES(1)");
        return 7;
    };
    world.run([&]() -> asio::awaitable<void> {
        auto failing = session.async_run(fails, asio::as_tuple(asio::deferred));
        const auto failure = co_await std::move(failing);
        EXPECT_TRUE(std::get<0>(failure));
        auto adding = session.async_run(add_cents(1, 1), asio::as_tuple(asio::deferred));
        const auto done = co_await std::move(adding);
        EXPECT_FALSE(std::get<0>(done));
    }());
    EXPECT_EQ(session.stats().forced, 1u);
}

TEST_F(DbBatch, AClosureThatEndsTheTransactionIsRefusedAndHarmsNobody) {
    for (const char* sql :
         {"COMMIT",
          "ROLLBACK",
          "BEGIN",
          "RELEASE mortise_closure",
          "ROLLBACK TO Mortise_Closure",
          "ATTACH ':memory:' AS other",
          "PRAGMA wal_autocheckpoint = 1",
          "PRAGMA synchronous = off"}) {
        codes.clear();
        const auto before = world.cents(1);
        {
            write_blocker block(session);
            queue(add_cents(1, 1));
            queue([sql](connection& on) {
                add_cents(2, 1)(on);
                run_raw(on, sql);
            });
            queue(add_cents(1, 1));
        }
        settle();
        EXPECT_EQ(codes[0], error_code()) << sql;
        EXPECT_EQ(codes[1], errc::transaction_control) << sql;
        EXPECT_EQ(codes[2], error_code()) << sql;
        EXPECT_EQ(world.cents(1), before + 2) << sql;
        EXPECT_EQ(world.cents(2), 100) << sql;
    }
    EXPECT_FALSE(session.poisoned());
}

TEST_F(DbBatch, SavepointsOfItsOwnAreAClosuresOwnBusiness) {
    queue([](connection& on) {
        on.run("SAVEPOINT inner");
        add_cents(1, 5)(on);
        on.run("ROLLBACK TO inner");
        on.run("RELEASE inner");
        on.run("SAVEPOINT never_released");
        add_cents(2, 5)(on);
    });
    settle();
    EXPECT_EQ(codes[0], error_code());
    EXPECT_EQ(world.cents(1), 100);
    EXPECT_EQ(world.cents(2), 105);
}

TEST_F(DbBatch, WhenSqliteUndoesTheTransactionTheNeighboursAreToldToDoItAgain) {
    {
        write_blocker block(session);
        queue(add_cents(1, 1));
        queue([](connection& on) { on.run("INSERT OR ROLLBACK INTO account VALUES(1, 1)"); });
        queue(add_cents(3, 1));
    }
    settle();
    EXPECT_EQ(codes[0], errc::rolled_back);
    EXPECT_TRUE(codes[0] == condition::retryable);
    EXPECT_EQ(codes[1].category(), db::sqlite_category());
    EXPECT_EQ(codes[2], error_code()) << "it had not run, and had the next transaction";
    EXPECT_EQ(world.cents(1), 100);
    EXPECT_EQ(world.cents(3), 101);
    EXPECT_FALSE(session.poisoned());
}

TEST_F(DbBatch, NothingIsCommittedInsideOfAClosureWhateverItDoes) {
    const auto steps = [](std::vector<const char*> statements, bool unguarded) {
        return [statements, unguarded](connection& on) {
            if (unguarded)
                ::sqlite3_set_authorizer(on.handle(), nullptr, nullptr);
            for (const char* sql : statements)
                run_raw(on, sql);
        };
    };
    constexpr auto add = "UPDATE account SET cents = cents + 7 WHERE id = 2";
    const std::vector<std::vector<const char*>> attempts{
        {"INSERT OR ROLLBACK INTO account VALUES(1, 1)", add},
        {add, "COMMIT"},
        {add, "COMMIT", "BEGIN", add},
        {add, "ROLLBACK", add},
        {add, "ROLLBACK", "BEGIN", add},
    };
    for (const auto& each : attempts) {
        codes.clear();
        session = world.open();
        {
            write_blocker block(session);
            queue(add_cents(1, 1));
            queue(steps(each, &each != &attempts.front()));
        }
        settle();
        queue(add_cents(3, 1));
        settle();
        EXPECT_EQ(codes, (std::vector<error_code>{errc::rolled_back, errc::rolled_back, {}}));
        EXPECT_EQ(world.cents(1), 100);
        EXPECT_EQ(world.cents(2), 100) << "after " << each.size() << " statements";
        EXPECT_FALSE(session.poisoned());
    }
}

TEST_F(DbBatch, ACommitBehindTheBackOfTheSessionPoisonsIt) {
    for (const char* sql : {"COMMIT", "COMMIT; BEGIN"}) {
        codes.clear();
        session = world.open();
        {
            write_blocker block(session);
            queue(add_cents(1, 1));
            queue([sql](connection& on) {
                ::sqlite3_set_authorizer(on.handle(), nullptr, nullptr);
                ::sqlite3_commit_hook(on.handle(), nullptr, nullptr);
                run_raw(on, sql);
            });
            queue(add_cents(2, 1));
        }
        settle();
        EXPECT_EQ(codes[0], errc::commit_unknown) << sql;
        EXPECT_EQ(codes[1], errc::commit_unknown) << sql;
        EXPECT_EQ(codes[2], errc::poisoned) << sql;
        EXPECT_TRUE(session.poisoned()) << sql;
        EXPECT_EQ(world.cents(2), 100) << sql;
    }
}

TEST_F(DbBatch, ForeignKeysThatAreLeftOpenFailTheirOwnClosureOnly) {
    world.sql(
        "CREATE TABLE entry(account INTEGER REFERENCES account(id) DEFERRABLE INITIALLY DEFERRED)"
    );
    {
        write_blocker block(session);
        queue([](connection& on) { on.run("INSERT INTO entry VALUES(1)"); });
        queue([](connection& on) { on.run("INSERT INTO entry VALUES(99)"); });
        queue([](connection& on) {
            on.run("INSERT INTO entry VALUES(4)");
            on.run("INSERT INTO account VALUES(4, 0)");
        });
    }
    settle();
    EXPECT_EQ(codes[0], error_code());
    EXPECT_EQ(codes[1], db::sqlite_error(SQLITE_CONSTRAINT_FOREIGNKEY));
    EXPECT_EQ(codes[2], error_code());
    EXPECT_EQ(world.sql("SELECT count(*) FROM entry"), 2);
    EXPECT_EQ(session.stats().batches, 2u);
}

TEST_F(DbBatch, AStatementThatWasLeftUnfinishedIsInNobodysWay) {
    {
        write_blocker block(session);
        queue([](connection& on) {
            sqlite3_stmt* leaked = nullptr;
            ::sqlite3_prepare_v2(
                on.handle(),
                "INSERT INTO account VALUES(7, 7), (8, 8) RETURNING id",
                -1,
                &leaked,
                nullptr
            );
            EXPECT_EQ(::sqlite3_step(leaked), SQLITE_ROW);
        });
        queue(add_cents(1, 1));
    }
    settle();
    EXPECT_EQ(codes[0], error_code());
    EXPECT_EQ(codes[1], error_code());
    EXPECT_EQ(world.cents(7), 7);
    // The leaked statement would keep the connection open.
    queue([](connection& on) {
        sqlite3_stmt* next = ::sqlite3_next_stmt(on.handle(), nullptr);
        while (next != nullptr) {
            sqlite3_stmt* const each = next;
            next = ::sqlite3_next_stmt(on.handle(), each);
            if (std::string(::sqlite3_sql(each)).find("RETURNING") != std::string::npos)
                ::sqlite3_finalize(each);
        }
    });
    settle();
}

TEST_F(DbBatch, TheFenceWorksInAClosure) {
    const fencing_token early{5, *token_domain::parse("locks")};
    const fencing_token late{9, *token_domain::parse("locks")};
    const auto sell = [](const fencing_token& held) {
        return [held](connection& on) -> result<void> {
            add_cents(1, -1)(on);
            if (const error_code refused = sqlite_fence::admit(on.handle(), "account 1", held))
                return refused;
            return {};
        };
    };
    {
        write_blocker block(session);
        queue(sell(late));
        queue(sell(early));
        queue(sell(late));
    }
    settle();
    EXPECT_EQ(codes[0], error_code());
    EXPECT_EQ(codes[1], errc::stale_token);
    EXPECT_EQ(codes[2], error_code());
    EXPECT_EQ(world.cents(1), 98);
}

}  // namespace
}  // namespace mortise::test::db_batch_test
