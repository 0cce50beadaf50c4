// SPDX-License-Identifier: BSL-1.0
// Connections and servers that end, and commits whose answer is lost.
#include "mortise/coro/event.hpp"
#include "mortise/coro/virtual_time.hpp"
#include "support/eventually.hpp"
#include "support/statement_proxy.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::session_fault_test {
namespace {

using connection = session_kind::connection;
using db::lost_commit;
using db::transaction_mark;
using db::transaction_options;
using db::transaction_outcome;
using deed = statement_proxy::deed;
using std::chrono::milliseconds;

class SessionFault : public testing::Test {
protected:
    session_kind::config through_proxy() {
        proxy =
            std::make_unique<statement_proxy>(world.context.get_executor(), world.server().port());
        auto config = world.config();
        session_kind::place(config, proxy->port());
        return config;
    }
    /// A session behind the proxy. What is made on first use is there already.
    session_world::session open(const session_kind::config& config) {
        auto direct = world.open();
        EXPECT_EQ(text_of(add(direct, 3)), "");
        return world.open(config);
    }
    void at(const std::string& text, deed then) { proxy->at(text, then); }
    std::exception_ptr
    add(session_world::session& session, int id = 1, transaction_options options = {}) {
        return world.failure_of(session.async_run(add_cents(id, 1), options, asio::use_awaitable));
    }
    static transaction_mark mark_of(const std::exception_ptr& failure) {
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (const lost_commit& lost) {
            EXPECT_EQ(lost.code(), errc::commit_unknown);
            return lost.mark();
        } catch (const std::exception& other) {
            ADD_FAILURE() << other.what();
            return {};
        }
        ADD_FAILURE() << "it was answered";
        return {};
    }
    transaction_outcome look(session_world::session& session, const transaction_mark& mark) {
        return world.run(session.async_outcome(mark, asio::use_awaitable));
    }
    // Asks until the server has noticed the end of the connection.
    transaction_outcome outcome_of(session_world::session& session, const transaction_mark& mark) {
        auto outcome = transaction_outcome::in_progress;
        eventually([&] {
            outcome = look(session, mark);
            return outcome != transaction_outcome::in_progress;
        });
        return outcome;
    }

    session_world world;
    std::unique_ptr<statement_proxy> proxy;
};

TEST_F(SessionFault, ACommitWhoseAnswerIsLostCanBeLookedUp) {
    auto session = open(through_proxy());
    at("COMMIT", deed::cut_answer);
    const auto why = add(session);
    EXPECT_EQ(code_of(why), errc::commit_unknown);
    const auto mark = mark_of(why);
    EXPECT_FALSE(mark.empty());
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::committed);
    EXPECT_EQ(world.cents(1), "101");
    EXPECT_EQ(session.stats().commits_unknown, 1u);
}

TEST_F(SessionFault, ACommitThatNeverArrivedCanBeLookedUp) {
    auto session = open(through_proxy());
    at("COMMIT", deed::cut);
    const auto mark = mark_of(add(session));
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::rolled_back);
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(SessionFault, ACommitThatIsNotTracedCannotBeLookedUp) {
    auto session = open(through_proxy());
    transaction_options options;
    options.traced = false;
    at("COMMIT", deed::cut_answer);
    const auto mark = mark_of(add(session, 1, options));
    EXPECT_TRUE(mark.empty());
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::unknown);
}

TEST_F(SessionFault, AStatementThatIsLostUndoesItsTransaction) {
    auto session = open(through_proxy());
    at("UPDATE account", deed::cut);
    EXPECT_EQ(code_of(add(session)), errc::store_unavailable);
    at("UPDATE account", deed::cut_answer);
    EXPECT_EQ(code_of(add(session)), errc::store_unavailable);
    EXPECT_EQ(text_of(add(session)), "");
    EXPECT_EQ(world.cents(1), "101");
    EXPECT_EQ(proxy->connections(), 3u);
}

TEST_F(SessionFault, SurvivesRestartsOfTheServer) {
    auto& own = spare_server();
    session_world there(own);
    auto session = there.open();
    int restarts = 0;
    const auto restart = [&](bool fast) {
        return [&, fast](connection& on) -> asio::awaitable<void> {
            co_await on.query("UPDATE account SET cents = 0");
            fast ? own.stop() : session_kind::crash(own);
            own.start();
            ++restarts;
            co_await on.query("SELECT 1");
        };
    };
    for (const bool fast : {true, false}) {
        const auto work = restart(fast);
        const auto why = there.failure_of(session.async_run(work, {}, asio::use_awaitable));
        EXPECT_TRUE(code_of(why) == condition::retryable) << text_of(why);
        EXPECT_EQ(there.cents(1), "100");
    }
    EXPECT_EQ(restarts, 2);
    own.restart();
    there.run(session.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(there.cents(1), "101") << "an idle connection of before is replaced unnoticed";
    own.stop();
    const auto away = there.failure_of(session.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(code_of(away), errc::store_unavailable);
    own.start();
    there.run(session.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(there.cents(1), "102");
}

TEST_F(SessionFault, AStoppedServerHoldsNobodyUpWhoCancels) {
    auto& own = spare_server();
    session_world there(own);
    auto config = there.config();
    config.cancel_max = milliseconds(50);
    auto session = there.open(config);
    asio::cancellation_signal signal;
    const auto stops = [&](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        own.suspend();
        asio::post(there.context, [&] { signal.emit(asio::cancellation_type::terminal); });
        co_await on.query("SELECT 1");
    };
    std::optional<error_code> code;
    session.async_run(
        stops,
        {},
        asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr why) { code = code_of(why); }
        )
    );
    ASSERT_TRUE(there.reaches([&] { return code.has_value(); }));
    EXPECT_EQ(*code, asio::error::operation_aborted);
    own.resume();
    EXPECT_EQ(there.cents(1), "100");
    there.run(session.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(there.cents(1), "101");
}

TEST_F(SessionFault, ACommitThatIsNotAnsweredIsUnknownSoonAfterACancellation) {
    auto config = through_proxy();
    config.cancel_max = milliseconds(50);
    auto session = open(config);
    at("COMMIT", deed::stall);
    asio::cancellation_signal signal;
    std::exception_ptr failure;
    bool ended = false;
    session.async_run(
        add_cents(1, 1),
        {},
        asio::bind_cancellation_slot(
            signal.slot(),
            [&](std::exception_ptr why) {
                failure = std::move(why);
                ended = true;
            }
        )
    );
    ASSERT_TRUE(world.reaches([&] { return !proxy->pending(); }));
    EXPECT_TRUE(world.reaches([&] { return world.cents(1) == "101"; })) << "the server has it";
    EXPECT_FALSE(ended);
    signal.emit(asio::cancellation_type::total);
    ASSERT_TRUE(world.reaches([&] { return ended; }));
    EXPECT_EQ(outcome_of(session, mark_of(failure)), transaction_outcome::committed);
}

TEST_F(SessionFault, ARollbackThatIsNotAnsweredHoldsNobodyUpWhoCancels) {
    auto config = through_proxy();
    config.cancel_max = milliseconds(50);
    auto session = open(config);
    at("ROLLBACK", deed::stall);
    asio::cancellation_signal signal;
    coro::event never(world.context.get_executor());
    bool waiting = false;
    const auto waits = [&](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        waiting = true;
        co_await never.async_wait();
    };
    std::optional<error_code> code;
    session.async_run(
        waits,
        {},
        asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr why) { code = code_of(why); }
        )
    );
    ASSERT_TRUE(world.reaches([&] { return waiting; }));
    signal.emit(asio::cancellation_type::terminal);
    ASSERT_TRUE(world.reaches([&] { return code.has_value(); }));
    EXPECT_EQ(code, asio::error::operation_aborted);
    EXPECT_FALSE(proxy->pending());
}

TEST_F(SessionFault, ACancellationThatTheClosureIgnoresUndoesItSoon) {
    auto config = through_proxy();
    config.cancel_max = milliseconds(50);
    auto session = open(config);
    at("ROLLBACK", deed::stall);
    asio::cancellation_signal signal;
    bool waiting = false;
    coro::event gate(world.context.get_executor());
    const auto ignores = [&](connection& on) -> asio::awaitable<void> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await on.query("UPDATE account SET cents = 5 WHERE id = 1");
        waiting = true;
        co_await gate.async_wait();
    };
    std::optional<std::exception_ptr> failure;
    session.async_run(
        ignores,
        {},
        asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr why) { failure = why; })
    );
    ASSERT_TRUE(world.reaches([&] { return waiting; }));
    signal.emit(asio::cancellation_type::terminal);
    world.context.restart();
    world.context.poll();
    gate.set();
    ASSERT_TRUE(world.reaches([&] { return failure.has_value(); }));
    ASSERT_TRUE(failure);
    EXPECT_EQ(code_of(*failure), asio::error::operation_aborted);
    EXPECT_FALSE(proxy->pending());
    EXPECT_TRUE(world.reaches([&] { return world.cents(1) == "100"; }));
}

TEST_F(SessionFault, ACommitThatIsStillOnItsWayIsInProgress) {
    auto session = open(through_proxy());
    at("COMMIT", deed::hold);
    const auto mark = mark_of(add(session));
    EXPECT_EQ(look(session, mark), transaction_outcome::in_progress);
}

TEST_F(SessionFault, ATransactionIsGivenUpIfTheServerDoesNotAnswerItsCommit) {
    auto config = through_proxy();
    const auto time = std::make_shared<coro::virtual_time>(world.context.get_executor());
    config.time = time;
    auto session = open(config);
    at("COMMIT", deed::stall);
    std::optional<std::exception_ptr> failure;
    session.async_run(add_cents(1, 1), {}, [&](std::exception_ptr why) { failure = why; });
    ASSERT_TRUE(world.reaches([&] { return !proxy->pending(); }));
    EXPECT_TRUE(world.reaches([&] { return world.cents(1) == "101"; })) << "the server has it";
    EXPECT_FALSE(failure);
    time->advance(config.answer_max + milliseconds(1));
    ASSERT_TRUE(world.reaches([&] { return failure.has_value(); }));
    EXPECT_FALSE(mark_of(*failure).empty());
    EXPECT_EQ(session.stats().connections, 0u);
    EXPECT_EQ(session.stats().commits_unknown, 1u);
}

TEST_F(SessionFault, AConnectionThatEndsInATransactionEndsItWithoutEffect) {
    auto session = world.open();
    error_code inside;
    error_code later;
    const auto is_ended = [&](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        world.end_connections();
        for (auto* const code : {&inside, &later}) {
            auto asking =
                on.async_query(db::bound_sql("SELECT 1", {}), asio::as_tuple(asio::deferred));
            const auto outcome = co_await std::move(asking);
            *code = code_of(std::get<0>(outcome));
        }
    };
    const auto outside =
        code_of(world.failure_of(session.async_run(is_ended, {}, asio::use_awaitable)));
    EXPECT_TRUE(inside == condition::retryable) << inside.message();
    EXPECT_EQ(later, errc::store_unavailable);
    EXPECT_TRUE(outside == condition::retryable) << "the closure hid it: " << outside.message();
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(text_of(add(session)), "");
    EXPECT_EQ(world.cents(1), "101");
}

}  // namespace
}  // namespace mortise::test::session_fault_test
