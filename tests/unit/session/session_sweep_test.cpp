// SPDX-License-Identifier: BSL-1.0
// What waits in a session with a database server, cancelled before each of its handlers.
#include "support/cancel_sweep.hpp"
#include "support/eventually.hpp"
#include "support/print.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::test::session_sweep_test {
namespace {

using connection = session_kind::connection;

constexpr const char* add_one = "UPDATE account SET cents = cents + 1 WHERE id = 1";

class SessionSweep : public testing::TestWithParam<asio::cancellation_type> {};

INSTANTIATE_TEST_SUITE_P(Types, SessionSweep, testing::ValuesIn(cancellation_types), param_name());

/// The world of one step of a sweep: a context and a session of its own at the server of all.
class sweep_world {
public:
    sweep_world() : session(context.get_executor(), config()) {
        place().sql("UPDATE account SET cents = 100");
    }

    void step_while(const std::function<bool()>& wanted) {
        const auto end = clock::now() + std::chrono::seconds(60);
        context.restart();
        while (wanted() && clock::now() < end)
            context.run_one_for(std::chrono::milliseconds(10));
    }
    void settle() {
        context.restart();
        context.run_for(std::chrono::seconds(60));
    }

    static session_world& place() {
        static session_world shared;
        return shared;
    }

    asio::io_context context{1};
    session_world::session session;

private:
    // By the Unix socket, where a login costs little: each step of a sweep has connections anew.
    static session_kind::config config() {
        auto config = place().config();
        config.connections_max = 1;
        config.prepared_max = std::chrono::milliseconds(50);
        session_kind::place_at_socket(config, place().server());
        return config;
    }
};

class session_case : public sweep_case {
protected:
    explicit session_case(sweep_world& world) : world_(world) {}

    static error_code expect_success_or_abort(const co_world::outcome& outcome) {
        const error_code code = code_of(outcome.failure);
        EXPECT_TRUE(!code || code == asio::error::operation_aborted) << text_of(outcome.failure);
        return code;
    }
    /// Whether nothing of the operation is left, and the session serves others.
    void expect_alive() {
        EXPECT_EQ(world_.session.stats().in_use, 0u);
        EXPECT_EQ(world_.session.stats().waiting, 0u);
        bool ended = false;
        world_.session.async_run(add_cents(3, 1), {}, [&](std::exception_ptr why) {
            ended = true;
            EXPECT_FALSE(why) << text_of(why);
        });
        world_.step_while([&] { return !ended; });
        EXPECT_EQ(sweep_world::place().cents(3), "101");
    }
    static std::string cents(int id) { return sweep_world::place().cents(id); }

    sweep_world& world_;
};

template <class Case>
std::size_t sweep(const std::string& function, asio::cancellation_type type) {
    return cancel_sweep<sweep_world>(function, type, [](sweep_world& at) {
        return std::make_unique<Case>(at);
    });
}

class writing final : public session_case {
public:
    explicit writing(sweep_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override {
        co_await world_.session.async_run(add_cents(1, 1));
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        EXPECT_EQ(cents(1), outcome.failure ? "100" : "101");
        expect_alive();
    }
};

TEST_P(SessionSweep, ATransactionThatWasCancelledWroteNothing) {
    EXPECT_GE(sweep<writing>("server_database::async_run", GetParam()), 8u);
}

/// A closure that lets every type of signal through to its statements.
class querying final : public session_case {
public:
    explicit querying(sweep_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override {
        auto work = [](connection& on) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            co_await on.query(add_one);
            co_await on.query(session_kind::sleep_short);
            auto adding = on.async_query(
                db::bound_sql("UPDATE account SET cents = cents + 1 WHERE id = 2", {})
            );
            co_await std::move(adding);
        };
        co_await world_.session.async_run(work);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        EXPECT_EQ(cents(1) + cents(2), outcome.failure ? "100100" : "101101");
        expect_alive();
    }
};

TEST_P(SessionSweep, AStatementThatWasCancelledUndoesItsTransaction) {
    EXPECT_GE(sweep<querying>("transaction_connection::async_query", GetParam()), 10u);
}

class asking final : public session_case {
public:
    explicit asking(sweep_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override {
        auto adding = world_.session.async_query(db::bound_sql(add_one, {}));
        co_await std::move(adding);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        EXPECT_EQ(cents(1), outcome.failure ? "100" : "101");
        expect_alive();
    }
};

TEST_P(SessionSweep, AStatementByItselfThatWasCancelledWroteNothing) {
    EXPECT_GE(sweep<asking>("server_database::async_query", GetParam()), 6u);
}

auto prepared_work() {
    return [](connection& on) -> asio::awaitable<bool> {
        auto adding = on.async_query(db::bound_sql(add_one, {}));
        co_await std::move(adding);
        co_return true;
    };
}

class preparing_case : public session_case {
protected:
    using session_case::session_case;

    void prepare_now() {
        bool ended = false;
        world_.session
            .async_prepare(name_, prepared_work(), {}, [&](std::exception_ptr, bool well) {
                ended = true;
                EXPECT_TRUE(well);
            });
        world_.step_while([&] { return !ended; });
    }
    /// Ends what is prepared. @return whether there was something
    bool finish_now(db::prepared_end how) {
        bool ended = false;
        bool found = false;
        world_.session.async_finish(name_, how, [&](std::exception_ptr why, bool was_there) {
            ended = true;
            found = was_there;
            EXPECT_FALSE(why) << text_of(why);
        });
        world_.step_while([&] { return !ended; });
        return found;
    }

    /// Another connection may hold it still, which has just been closed.
    void finish_in_the_end(db::prepared_end how) {
        EXPECT_TRUE(eventually([&] { return finish_now(how); }));
    }

    const db::prepared_name name_{"mortise.sweep", "1"};
};

class checking final : public session_case {
public:
    explicit checking(sweep_world& world)
        : session_case(world),
          participant_(session_kind::xa_participant(
              std::shared_ptr<session_kind::session>(std::shared_ptr<void>(), &world.session), 1u
          )) {}
    asio::awaitable<void> operation() override { return participant_->check(); }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        expect_alive();
    }

private:
    const std::shared_ptr<txn::xa_participant> participant_;
};

TEST_P(SessionSweep, CancelsAXaCheckAtEachStep) {
    EXPECT_GE(sweep<checking>("xa_participant::check", GetParam()), 8u);
}

class preparing final : public preparing_case {
public:
    explicit preparing(sweep_world& world) : preparing_case(world) {}
    asio::awaitable<void> operation() override {
        auto work = prepared_work();
        prepared_ = co_await world_.session.async_prepare(name_, work);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        EXPECT_EQ(prepared_, !outcome.failure);
        if (prepared_)
            finish_in_the_end(db::prepared_end::roll_back);
        EXPECT_FALSE(finish_now(db::prepared_end::commit));
        EXPECT_EQ(cents(1), "100");
        expect_alive();
    }

private:
    bool prepared_ = false;
};

class finishing final : public preparing_case {
public:
    explicit finishing(sweep_world& world) : preparing_case(world) { prepare_now(); }
    asio::awaitable<void> operation() override {
        found_ = co_await world_.session.async_finish(name_, db::prepared_end::commit);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        if (!found_)
            finish_in_the_end(db::prepared_end::commit);
        EXPECT_FALSE(finish_now(db::prepared_end::commit));
        EXPECT_EQ(cents(1), "101");
        expect_alive();
    }

private:
    bool found_ = false;
};

TEST_P(SessionSweep, APreparationThatWasCancelledLeftNothing) {
    EXPECT_GE(sweep<preparing>("server_database::async_prepare", GetParam()), 8u);
}

TEST_P(SessionSweep, AnEndThatWasCancelledIsAskedForAgain) {
    EXPECT_GE(sweep<finishing>("server_database::async_finish", GetParam()), 1u);
}

class looking final : public session_case {
public:
    explicit looking(sweep_world& world) : session_case(world) {}
    asio::awaitable<void> operation() override {
        const db::transaction_mark never("999999999999", "00000001");
        const auto outcome = co_await world_.session.async_outcome(never);
        EXPECT_EQ(outcome, db::transaction_outcome::unknown);
    }
    void check(const co_world::outcome& outcome) override {
        expect_success_or_abort(outcome);
        expect_alive();
    }
};

TEST_P(SessionSweep, ALookAtAnOutcomeMayBeCancelled) {
    EXPECT_GE(sweep<looking>("server_database::async_outcome", GetParam()), 6u);
}

class stopping final : public session_case {
public:
    explicit stopping(sweep_world& world) : session_case(world) {
        world_.session.async_run(add_cents(1, 1), {}, [this](std::exception_ptr why) {
            ended_ = true;
            EXPECT_TRUE(!why || code_of(why) == asio::error::operation_aborted) << text_of(why);
        });
    }
    asio::awaitable<void> operation() override { co_await world_.session.async_stop(); }
    void check(const co_world::outcome& outcome) override {
        const error_code code = expect_success_or_abort(outcome);
        EXPECT_TRUE(ended_) << "the transaction ends whether anybody waits for that or not";
        EXPECT_TRUE(code || world_.session.stats().connections == 0u);
    }

private:
    bool ended_ = false;
};

TEST_P(SessionSweep, AStopGoesOnWithoutTheOneWhoWaits) {
    EXPECT_GE(sweep<stopping>("server_database::async_stop", GetParam()), 1u);
}

TEST(SessionSweepDestroy, ATransactionThatWasDestroyedLeavesNothing) {
    auto& place = sweep_world::place();
    bool ended = false;
    int step = 0;
    for (; !ended; ++step) {
        {
            sweep_world world;
            world.session.async_run(add_cents(1, 1), {}, [&](std::exception_ptr why) {
                EXPECT_FALSE(why) << text_of(why);
                ended = true;
            });
            int handlers = 0;
            world.step_while([&] { return !ended && handlers++ < step; });
        }
        // The server may be about to commit.
        EXPECT_TRUE(eventually([&] { return place.connections() == 0; }));
    }
    EXPECT_EQ(place.cents(1), "101");
    EXPECT_GE(step, 8);
}

}  // namespace
}  // namespace mortise::test::session_sweep_test
