// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_SQL_OPTIMISTIC_SUITE_HPP
#define MORTISE_TESTS_UNIT_SQL_OPTIMISTIC_SUITE_HPP

#include "mortise/db/optimistic.hpp"
#include "unit/sql/sql_scene.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

// Updates by a version column, at a server; DbOptimistic has those of SQLite.
namespace mortise::test {

template <class Scene>
class Optimistic : public SqlScene<Scene> {
protected:
    Optimistic() {
        this->sql("CREATE TABLE stock(id BIGINT PRIMARY KEY, amount BIGINT NOT NULL,"
                  " note VARCHAR(50), version BIGINT NOT NULL)");
        this->sql("INSERT INTO stock VALUES (1, 0, 'x', 0), (2, 5, NULL, 7)");
    }

    asio::awaitable<void> count_up(int times) {
        const auto body = [](db::row& stock) -> asio::awaitable<void> {
            const auto seen = stock.integer("amount");
            co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
            stock.set("amount", seen + 1);
        };
        const db::optimistic_options often{.attempts_max = 10'000};
        for (int i = 0; i < times; ++i)
            co_await db::optimistic_update(this->session, first, often, body);
    }

    const db::versioned_row first{"stock", 1};
};

TYPED_TEST_SUITE_P(Optimistic);

TYPED_TEST_P(Optimistic, ManyCoroutinesLoseNoUpdate) {
    std::vector<typename TestFixture::outcome> counters;
    for (int i = 0; i < 6; ++i)
        counters.push_back(this->start(this->count_up(5)));
    this->run_until_all_ended(counters);
    EXPECT_EQ(this->number("SELECT amount FROM stock WHERE id = 1"), 30);
    EXPECT_EQ(this->number("SELECT version FROM stock WHERE id = 1"), 30);
    EXPECT_EQ(this->number("SELECT version FROM stock WHERE id = 2"), 7) << "nobody's row";
}

TYPED_TEST_P(Optimistic, GivesWhatTheBodyReturnedInTheAttemptThatWasWritten) {
    int attempts = 0;
    const auto body = [&](db::row& stock) -> asio::awaitable<int> {
        if (++attempts == 1)
            this->sql("UPDATE stock SET amount = 40, version = version + 1 WHERE id = 1");
        stock.set("amount", stock.integer("amount") + 2);
        stock.set("note", "it's changed");
        co_return 10 * attempts;
    };
    EXPECT_EQ(this->run(db::optimistic_update(this->session, this->first, {}, body)), 20);
    EXPECT_EQ(this->number("SELECT amount FROM stock WHERE id = 1"), 42);
    EXPECT_EQ(this->number("SELECT count(*) FROM stock WHERE note = 'it''s changed'"), 1);
}

TYPED_TEST_P(Optimistic, GivesUpAfterItsAttempts) {
    int attempts = 0;
    const auto losing = [&](db::row& stock) -> asio::awaitable<void> {
        ++attempts;
        this->sql("UPDATE stock SET version = version + 1 WHERE id = 1");
        stock.set("amount", 99);
        co_return;
    };
    EXPECT_EQ(
        this->code_of(db::optimistic_update(this->session, this->first, {.attempts_max = 3}, losing)
        ),
        errc::contended
    );
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(this->number("SELECT amount FROM stock WHERE id = 1"), 0);
}

TYPED_TEST_P(Optimistic, WritesNothingIfNothingIsSetOrTheBodyThrows) {
    const auto idle = [](db::row&) -> asio::awaitable<void> { co_return; };
    this->run(db::optimistic_update(this->session, this->first, {}, idle));
    const auto failing = [](db::row& stock) -> asio::awaitable<void> {
        stock.set("amount", 9);
        throw error(errc::busy, {}, {});
        co_return;
    };
    EXPECT_EQ(
        this->code_of(db::optimistic_update(this->session, this->first, {}, failing)), errc::busy
    );
    EXPECT_EQ(this->number("SELECT amount + version FROM stock WHERE id = 1"), 0);
}

TYPED_TEST_P(Optimistic, RefusesMistakes) {
    const auto idle = [](db::row&) -> asio::awaitable<void> { co_return; };
    const db::versioned_row missing("stock", 77);
    EXPECT_EQ(
        this->code_of(db::optimistic_update(this->session, missing, {}, idle)), errc::row_missing
    );
    const auto meddling = [](db::row& stock) -> asio::awaitable<void> {
        stock.set("version", 5);
        co_return;
    };
    EXPECT_EQ(
        this->code_of(db::optimistic_update(this->session, this->first, {}, meddling)),
        errc::bad_config
    );
}

REGISTER_TYPED_TEST_SUITE_P(
    Optimistic,
    ManyCoroutinesLoseNoUpdate,
    GivesWhatTheBodyReturnedInTheAttemptThatWasWritten,
    GivesUpAfterItsAttempts,
    WritesNothingIfNothingIsSetOrTheBodyThrows,
    RefusesMistakes
);

}  // namespace mortise::test

#endif
