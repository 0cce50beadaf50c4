// SPDX-License-Identifier: BSL-1.0
// What waits in db/, cancelled before each of its handlers.
#include "mortise/db/optimistic.hpp"
#include "support/cancel_sweep.hpp"
#include "support/print.hpp"
#include "unit/db/db_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace mortise::test::db_sweep_test {
namespace {

using db::connection;
using db::durability;

class DbSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, DbSweep, testing::ValuesIn(cancellation_types), param_name());

asio::awaitable<void> let_others_run() {
    for (int i = 0; i < 5; ++i)
        co_await asio::post(co_await asio::this_coro::executor, asio::deferred);
}

void expect_success_or_abort(error_code code) {
    EXPECT_TRUE(!code || code == asio::error::operation_aborted) << code.message();
}

/// A session, one of whose threads is kept by a closure for some handlers.
class db_case : public sweep_case {
protected:
    explicit db_case(db_world& world) : world_(world), session_(world.open()) {}

    auto gate() {
        return [held = gate_](connection&) { held->get_future().wait(); };
    }
    void open_later() {
        asio::co_spawn(world_.context, open(gate_), [](std::exception_ptr failure) {
            EXPECT_FALSE(failure);
        });
    }
    /// Whether the session does what it is told.
    void expect_alive() {
        const auto before = world_.cents(3);
        world_.run(session_.async_run(add_cents(3, 1), durability::lazy, asio::use_awaitable));
        EXPECT_EQ(world_.cents(3), before + 1);
    }

    db_world& world_;
    db::sqlite session_;

private:
    using promise = std::promise<void>;

    static asio::awaitable<void> open(std::shared_ptr<promise> gate) {
        co_await let_others_run();
        gate->set_value();
    }

    const std::shared_ptr<promise> gate_ = std::make_shared<promise>();
};

class writing final : public db_case {
public:
    explicit writing(db_world& world) : db_case(world) {
        auto block = gate();
        session_.async_run(block, durability::lazy, asio::detached);
        open_later();
    }
    asio::awaitable<void> operation() override { co_await session_.async_run(add_cents(1, 1)); }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        EXPECT_EQ(world_.cents(1), outcome.code() ? 100 : 101);
        expect_alive();
    }
};

TEST_P(DbSweep, AWriteThatWasCancelledWroteNothing) {
    const auto steps = cancel_sweep<db_world>("sqlite::async_run", GetParam(), [](db_world& at) {
        return std::make_unique<writing>(at);
    });
    EXPECT_GE(steps, 4u);
}

class reading final : public db_case {
public:
    explicit reading(db_world& world) : db_case(world) {
        auto block = gate();
        session_.async_read(block, asio::detached);
        open_later();
    }
    asio::awaitable<void> operation() override {
        auto look = [this](connection& on) {
            ++looks_;
            return on.query("SELECT cents FROM account").step();
        };
        EXPECT_TRUE(co_await session_.async_read(look));
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        EXPECT_EQ(looks_, outcome.code() ? 0 : 1);
        expect_alive();
    }

private:
    int looks_ = 0;
};

TEST_P(DbSweep, AReadThatWasCancelledDidNotLook) {
    const auto steps = cancel_sweep<db_world>("sqlite::async_read", GetParam(), [](db_world& at) {
        return std::make_unique<reading>(at);
    });
    EXPECT_GE(steps, 4u);
}

/// One closure runs and another one waits while the session is stopped.
class stopping final : public db_case {
public:
    stopping(db_world& world, asio::cancellation_type type) : db_case(world), type_(type) {
        auto block = gate();
        session_.async_run(block, durability::lazy, asio::detached);
        open_later();
    }
    asio::awaitable<void> operation() override {
        session_.async_run(add_cents(1, 1), durability::force, [this](error_code code) {
            queued_ = code;
        });
        begun_ = true;
        co_await session_.async_stop();
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        if (!begun_)
            return;
        if (type_ == asio::cancellation_type::total) {
            EXPECT_FALSE(outcome.code()) << "a stop has effects, so that total means nothing to it";
        }
        EXPECT_EQ(world_.cents(1), queued_ ? 100 : 101);
        bool aborted = false;
        session_.async_run(add_cents(1, 1), durability::force, [&aborted](error_code code) {
            aborted = code == asio::error::operation_aborted;
        });
        world_.settle();
        EXPECT_TRUE(aborted) << "it is stopped, whether or not somebody waited for that";
    }

private:
    const asio::cancellation_type type_;
    error_code queued_;
    bool begun_ = false;
};

TEST_P(DbSweep, AStopWhoseWaitWasCancelledStopsAllTheSame) {
    const auto steps = cancel_sweep<db_world>("sqlite::async_stop", GetParam(), [](db_world& at) {
        return std::make_unique<stopping>(at, GetParam());
    });
    EXPECT_GE(steps, 4u);
}

/// Another coroutine is faster once.
class updating final : public db_case {
public:
    explicit updating(db_world& world) : db_case(world) {
        world.sql("ALTER TABLE account ADD COLUMN version INTEGER NOT NULL DEFAULT 0");
    }
    asio::awaitable<void> operation() override {
        const auto body = [this](db::row& account) -> asio::awaitable<void> {
            const auto seen = account.integer("cents");
            if (++attempts_ == 1) {
                auto faster = [](connection& on) {
                    on.run("UPDATE account SET cents = cents + 10, version = version + 1");
                };
                co_await session_.async_run(faster, durability::lazy);
                met_ = true;
            }
            account.set("cents", seen + 1);
        };
        co_await db::optimistic_update(session_, which_, db::optimistic_options(), body);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome.code());
        const auto cents = world_.cents(1);
        const auto version = world_.sql("SELECT version FROM account WHERE id = 1");
        // Work that ran is not undone; so after a signal the row may have been written.
        EXPECT_TRUE(cents == 100 + 10 * (version > 0) + (version > 1)) << cents << ", " << version;
        if (!outcome.code()) {
            EXPECT_EQ(cents, 111);
            EXPECT_EQ(attempts_, 2);
        }
        expect_alive();
    }

private:
    const db::versioned_row which_{"account", 1};
    int attempts_ = 0;
    bool met_ = false;
};

TEST_P(DbSweep, AnUpdateThatWasCancelledIsWrittenAsAWholeOrNotAtAll) {
    const auto steps = cancel_sweep<db_world>("optimistic_update", GetParam(), [](db_world& at) {
        return std::make_unique<updating>(at);
    });
    EXPECT_GE(steps, 6u);
}

}  // namespace
}  // namespace mortise::test::db_sweep_test
