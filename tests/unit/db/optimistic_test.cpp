// SPDX-License-Identifier: BSL-1.0
// Reading, thinking and writing without a lock: no update is ever lost.
#include "mortise/coro/virtual_time.hpp"
#include "mortise/db/optimistic.hpp"
#include "unit/db/db_world.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test::db_optimistic_test {
namespace {

using db::optimistic_options;
using db::optimistic_update;
using db::row;
using db::versioned_row;

asio::awaitable<void> let_others_run() {
    co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
}

class DbOptimistic : public testing::Test {
protected:
    DbOptimistic() {
        world.sql("CREATE TABLE stock(id, left INTEGER, note, version INTEGER)");
        world.sql("INSERT INTO stock VALUES(1, 0, 'x', 0), ('b', 7, NULL, 3), (2, 5, 'y', NULL)");
    }

    std::int64_t left() const { return world.sql("SELECT left FROM stock WHERE id = 1"); }

    template <class Body>
    error_code code_of(versioned_row target, optimistic_options options, Body body) {
        auto task = [&]() -> asio::awaitable<void> {
            co_await optimistic_update(session, target, options, body);
        };
        try {
            world.run(task());
        } catch (const boost::system::system_error& e) {
            return e.code();
        }
        return {};
    }

    db_world world;
    db::sqlite session = world.open();
    const versioned_row first{"stock", 1};
};

asio::awaitable<void> count_up(const db::sqlite& session, versioned_row target, int times) {
    for (int i = 0; i < times; ++i) {
        co_await optimistic_update(
            session,
            target,
            {.attempts_max = 10'000, .how = db::durability::lazy},
            [](row& stock) -> asio::awaitable<void> {
                const auto seen = stock.integer("left");
                co_await let_others_run();
                stock.set("left", seen + 1);
            }
        );
    }
}

TEST_F(DbOptimistic, ManyCoroutinesOfTwoSessionsLoseNoUpdate) {
    db::sqlite other = world.open();
    int ended = 0;
    for (int i = 0; i < 8; ++i) {
        asio::co_spawn(
            world.context,
            count_up(i % 2 == 0 ? session : other, first, 10),
            [&](std::exception_ptr failure) {
                EXPECT_FALSE(failure);
                ++ended;
            }
        );
    }
    world.context.run();
    EXPECT_EQ(ended, 8);
    EXPECT_EQ(left(), 80);
    EXPECT_EQ(world.sql("SELECT version FROM stock WHERE id = 1"), 80);
    EXPECT_GT(session.stats().conflicts + other.stats().conflicts, 0u) << "they never met";
}

TEST_F(DbOptimistic, GivesWhatTheBodyReturnedInTheAttemptThatWasWritten) {
    int attempts = 0;
    const auto body = [&](row& stock) -> asio::awaitable<int> {
        if (++attempts == 1)
            world.sql("UPDATE stock SET left = 40, version = version + 1");
        stock.set("left", stock.integer("left") + 2);
        stock.set("note", "changed");
        co_return 10 * attempts;
    };
    const int found = world.run(optimistic_update(session, first, {}, body));
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(found, 20);
    EXPECT_EQ(left(), 42) << "computed from what the other one wrote";
    EXPECT_EQ(session.stats().conflicts, 1u);
    EXPECT_EQ(world.sql("SELECT count(*) FROM stock WHERE note = 'changed'"), 1);
}

TEST_F(DbOptimistic, GivesUpAfterItsAttempts) {
    int attempts = 0;
    const auto losing = [&](row& stock) -> asio::awaitable<void> {
        ++attempts;
        world.sql("UPDATE stock SET version = version + 1 WHERE id = 1");
        stock.set("left", 99);
        co_return;
    };
    const error_code code = code_of(first, {.attempts_max = 3}, losing);
    EXPECT_EQ(code, errc::contended);
    EXPECT_TRUE(code == condition::retryable);
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(session.stats().conflicts, 3u);
    EXPECT_EQ(left(), 0);
}

TEST_F(DbOptimistic, PausesBetweenItsAttemptsInTheTimeThatItWasGiven) {
    auto config = world.config();
    const auto time = std::make_shared<coro::virtual_time>(world.context.get_executor());
    config.time = time;
    config.jitter_seed = 1;
    session = world.open(config);
    int attempts = 0;
    const auto body = [&](row& stock) -> asio::awaitable<void> {
        if (++attempts == 1)
            world.sql("UPDATE stock SET version = version + 1 WHERE id = 1");
        stock.set("left", attempts);
        co_return;
    };
    constexpr std::chrono::hours first_pause(1);
    bool ended = false;
    asio::co_spawn(
        world.context,
        optimistic_update(session, first, {.pause = {first_pause, first_pause}}, body),
        [&](std::exception_ptr failure) { ended = !failure; }
    );
    while (session.stats().conflicts == 0)
        world.context.run_one();
    world.context.poll();
    EXPECT_EQ(attempts, 1);
    time->run_for(world.context, first_pause);
    while (!ended)
        world.context.run_one();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(left(), 2);
}

TEST_F(DbOptimistic, SaysThatThereIsNoSuchRow) {
    int attempts = 0;
    const auto never = [&](row&) -> asio::awaitable<void> {
        ++attempts;
        co_return;
    };
    EXPECT_EQ(code_of({"stock", 77}, {}, never), errc::row_missing);
    EXPECT_EQ(attempts, 0);
    const auto removed = [&](row& stock) -> asio::awaitable<void> {
        ++attempts;
        world.sql("DELETE FROM stock WHERE id = 1");
        stock.set("left", 1);
        co_return;
    };
    EXPECT_EQ(code_of(first, {}, removed), errc::row_missing) << "it went meanwhile";
    EXPECT_EQ(attempts, 1);
}

TEST_F(DbOptimistic, TellsMistakesInNamesAndTypes) {
    const auto nothing = [](row&) -> asio::awaitable<void> { co_return; };
    EXPECT_EQ(code_of({"stocks", 1}, {}, nothing), db::sqlite_error(SQLITE_ERROR));
    versioned_row other_id("stock", 1);
    other_id.id_column = "key";
    EXPECT_EQ(code_of(other_id, {}, nothing), db::sqlite_error(SQLITE_ERROR));
    versioned_row other_version("stock", 1);
    other_version.version_column = "generation";
    EXPECT_EQ(code_of(other_version, {}, nothing), errc::column_unknown);
    EXPECT_EQ(code_of({"stock", 2}, {}, nothing), errc::column_type)
        << "a version that is null never compares";
    const auto wrong_column = [](row& stock) -> asio::awaitable<void> {
        stock.set("price", 1);
        co_return;
    };
    EXPECT_EQ(code_of(first, {}, wrong_column), errc::column_unknown);
    const auto wrong_type = [](row& stock) -> asio::awaitable<void> {
        EXPECT_EQ(stock.text("note"), "x");
        EXPECT_EQ(stock.real("left"), 0);
        EXPECT_FALSE(stock.is_null("note"));
        static_cast<void>(stock.integer("note"));
        co_return;
    };
    EXPECT_EQ(code_of(first, {}, wrong_type), errc::column_type);
    const auto own_version = [](row& stock) -> asio::awaitable<void> {
        stock.set("version", 9);
        co_return;
    };
    EXPECT_EQ(code_of(first, {}, own_version), errc::bad_config);
}

TEST_F(DbOptimistic, WritesNothingIfTheBodySetsNothingOrThrows) {
    const auto looks = [](row& stock) -> asio::awaitable<void> {
        EXPECT_EQ(stock.integer("left"), 7);
        EXPECT_TRUE(stock.is_null("note"));
        co_return;
    };
    EXPECT_EQ(code_of({"stock", "b"}, {}, looks), error_code());
    const auto refuses = [](row& stock) -> asio::awaitable<void> {
        stock.set("left", 1);
        co_await let_others_run();
        throw boost::system::system_error(asio::error::access_denied);
    };
    EXPECT_EQ(code_of({"stock", "b"}, {}, refuses), asio::error::access_denied);
    EXPECT_EQ(world.sql("SELECT version FROM stock WHERE id = 'b'"), 3);
    EXPECT_EQ(session.stats().batches, 0u);
}

TEST_F(DbOptimistic, KeepsEveryKindOfValue) {
    const auto writes = [](row& stock) -> asio::awaitable<void> {
        stock.set("left", 0.5);
        stock.set("note", db::blob("\xff"));
        EXPECT_EQ(std::get<db::blob>(stock.value("note")), db::blob("\xff"));
        co_return;
    };
    EXPECT_EQ(code_of(first, {}, writes), error_code());
    EXPECT_EQ(world.sql("SELECT count(*) FROM stock WHERE left = 0.5 AND note = x'ff'"), 1);
    const auto clears = [](row& stock) -> asio::awaitable<void> {
        stock.set("note", {});
        co_return;
    };
    EXPECT_EQ(code_of(first, {}, clears), error_code());
    EXPECT_EQ(world.sql("SELECT count(*) FROM stock WHERE id = 1 AND note IS NULL"), 1);
}

}  // namespace
}  // namespace mortise::test::db_optimistic_test
