// SPDX-License-Identifier: BSL-1.0
// What waits in a session with PostgreSQL, cancelled before each of its handlers.
#include "mortise/db/postgres.hpp"
#include "support/cancel_sweep.hpp"
#include "support/eventually.hpp"
#include "support/print.hpp"
#include "unit/postgres/postgres_world.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace mortise::test::postgres_sweep_test {
namespace {

using db::postgres_connection;

class PostgresSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, PostgresSweep, testing::ValuesIn(cancellation_types), param_name());

/// A session at the shared server, and what is looked for after each cancellation.
class session_case : public sweep_case {
protected:
    explicit session_case(postgres_world& world)
        : world_(world), session_(world.open(config_for(world))) {}

    void expect_success_or_abort(const co_world::outcome& outcome) {
        const error_code code = code_of(outcome.failure);
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << text_of(outcome.failure);
    }
    /// Whether nothing of the operation is left at the server, and the session serves others.
    void expect_alive() {
        EXPECT_TRUE(eventually([&] {
            return world_.sql("SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND"
                              " application_name = 'mortise'") == "0";
        }));
        const int before = std::stoi(world_.cents(3));
        world_.run(session_.async_run(add_cents(3, 1), {}, asio::use_awaitable));
        EXPECT_EQ(world_.cents(3), std::to_string(before + 1));
    }

    postgres_world& world_;
    db::postgres session_;

private:
    // By the Unix socket, where a login costs nothing: each step of a sweep has connections anew.
    static db::postgres_config config_for(const postgres_world& world) {
        auto config = world.config();
        config.servers[0].host = world.server().socket_folder();
        return config;
    }
};

class writing final : public session_case {
public:
    explicit writing(postgres_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override { co_await session_.async_run(add_cents(1, 1)); }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        EXPECT_EQ(world_.cents(1), outcome.failure ? "100" : "101");
        expect_alive();
    }
};

TEST_P(PostgresSweep, ATransactionThatWasCancelledWroteNothing) {
    const auto steps =
        cancel_sweep<postgres_world>("postgres::async_run", GetParam(), [](postgres_world& at) {
            return std::make_unique<writing>(at);
        });
    EXPECT_GE(steps, 8u);
}

/// A closure that lets every type of signal through to its statements.
class querying final : public session_case {
public:
    explicit querying(postgres_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override {
        auto work = [](postgres_connection& on) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            co_await on.query("UPDATE account SET cents = cents + 1 WHERE id = 1");
            co_await on.query("SELECT pg_sleep(0.005)");
            co_await on.query("UPDATE account SET cents = cents + 1 WHERE id = 2");
        };
        co_await session_.async_run(work);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        EXPECT_EQ(world_.cents(1) + world_.cents(2), outcome.failure ? "100100" : "101101");
        expect_alive();
    }
};

TEST_P(PostgresSweep, AStatementThatWasCancelledUndoesItsTransaction) {
    const auto steps = cancel_sweep<postgres_world>(
        "postgres_connection::async_query",
        GetParam(),
        [](postgres_world& at) { return std::make_unique<querying>(at); }
    );
    EXPECT_GE(steps, 10u);
}

class looking final : public session_case {
public:
    explicit looking(postgres_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override {
        const db::transaction_mark never("999999999999", "00000001");
        const auto outcome = co_await session_.async_outcome(never);
        EXPECT_EQ(outcome, db::transaction_outcome::unknown);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        expect_alive();
    }
};

TEST_P(PostgresSweep, ALookAtAnOutcomeMayBeCancelled) {
    const auto steps =
        cancel_sweep<postgres_world>("postgres::async_outcome", GetParam(), [](postgres_world& at) {
            return std::make_unique<looking>(at);
        });
    EXPECT_GE(steps, 6u);
}

class stopping final : public session_case {
public:
    explicit stopping(postgres_world& world) : session_case(world) {
        session_.async_run(add_cents(1, 1), {}, asio::detached);
    }
    asio::awaitable<void> operation() override { co_await session_.async_stop(); }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        if (outcome.failure)
            expect_alive();  // the coroutine was cancelled before it began to stop
        else
            EXPECT_EQ(session_.stats().connections, 0u);
    }
};

TEST_P(PostgresSweep, AStopIsNotCancelled) {
    const auto steps =
        cancel_sweep<postgres_world>("postgres::async_stop", GetParam(), [](postgres_world& at) {
            return std::make_unique<stopping>(at);
        });
    EXPECT_GE(steps, 1u);
}

}  // namespace
}  // namespace mortise::test::postgres_sweep_test
