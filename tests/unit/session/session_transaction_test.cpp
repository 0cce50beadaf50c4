// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/error.hpp"
#include "mortise/coro/event.hpp"
#include "support/eventually.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::test::session_transaction_test {
namespace {

using connection = session_kind::connection;
using db::bound_sql;
using db::query_result;
using db::transaction_options;
using std::chrono::milliseconds;

constexpr const char* duplicate = "INSERT INTO account VALUES(1, 5)";
constexpr const char* empty_all = "UPDATE account SET cents = 0";

std::string marked(const std::string& statement) {
    return session_kind::marked(statement);
}

/// The failure of a statement, which the closure goes on after.
asio::awaitable<error_code> code_after(connection& on, std::string text) {
    auto trying = on.async_query(bound_sql(std::move(text), {}), asio::as_tuple(asio::deferred));
    const auto outcome = co_await std::move(trying);
    co_return code_of(std::get<0>(outcome));
}

class SessionTransaction : public testing::Test {
protected:
    template <class Work>
    auto start(Work work, transaction_options options = {}) {
        return session.async_run(std::move(work), options, asio::use_awaitable);
    }
    /// Starts a statement by itself; `alone` gets its end.
    template <class Token>
    void start_alone(const std::string& text, Token token) {
        session.async_query(bound_sql(text, {}), std::move(token));
    }

    session_world world;
    session_world::session session = world.open();
};

TEST_F(SessionTransaction, CommitsWhatAClosureDid) {
    const auto left = world.run(start([](connection& on) -> asio::awaitable<std::int64_t> {
        co_await on.query(marked("UPDATE account SET cents = cents - ? WHERE id = ?"), 30, 1);
        const auto changed = co_await on.query(
            marked("UPDATE account SET cents = cents + ? WHERE id IN (2, 3)"), 15
        );
        EXPECT_EQ(changed.affected, 2);
        const auto found = co_await on.query(marked("SELECT cents FROM account WHERE id = ?"), 1);
        co_return found.first().integer("cents");
    }));
    EXPECT_EQ(left, 70);
    EXPECT_EQ(world.cents(1), "70");
    EXPECT_EQ(world.cents(2), "115");
    EXPECT_EQ(session.stats().committed, 1u);
    EXPECT_EQ(session.stats().connections, 1u);
    EXPECT_EQ(session.stats().in_use, 0u);
    EXPECT_EQ(session.stats().idle, 1u);
}

TEST_F(SessionTransaction, RollsBackWhatAClosureThrowsFor) {
    const auto throws = [](connection& on) -> asio::awaitable<void> {
        co_await on.query(empty_all);
        throw std::runtime_error("no");
    };
    EXPECT_EQ(text_of(world.failure_of(start(throws))), "no") << "unchanged";
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(session.stats().rolled_back, 1u);
    const auto mistakes = [](connection& on) -> asio::awaitable<void> {
        co_await on.query(empty_all);
        co_await on.query(duplicate);
    };
    EXPECT_EQ(code_of(world.failure_of(start(mistakes))), session_kind::duplicate_code());
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(session.stats().connections_opened, 1u) << "the connection is used again";
}

TEST_F(SessionTransaction, IsEndedByTheSessionAlone) {
    for (const char* const text :
         {"COMMIT",
          "rollback",
          "  /* a */ COMMIT;",
          "-- x\nBEGIN",
          "START TRANSACTION",
          "ROLLBACK WORK"}) {
        const auto ends = [text](connection& on) -> asio::awaitable<void> {
            co_await on.query(empty_all);
            EXPECT_EQ(co_await code_after(on, text), errc::transaction_control) << text;
        };
        EXPECT_EQ(code_of(world.failure_of(start(ends))), errc::transaction_control) << text;
        EXPECT_EQ(world.cents(1), "100") << text << ": even if the refusal is ignored";
    }
    const auto saves = [](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 1 WHERE id = 1");
        co_await on.query("SAVEPOINT x");
        co_await on.query("UPDATE account SET cents = 2 WHERE id = 1");
        co_await on.query("/* back */ ROLLBACK TO x");
        co_await on.query("RELEASE SAVEPOINT x");
        co_await on.query("SELECT 'COMMIT'");
    };
    EXPECT_EQ(text_of(world.failure_of(start(saves))), "");
    EXPECT_EQ(world.cents(1), "1");
}

TEST_F(SessionTransaction, ReadsOnlyIfItIsToldTo) {
    transaction_options options;
    options.read_only = true;
    EXPECT_EQ(
        code_of(world.failure_of(start(add_cents(1, 1), options))), session_kind::read_only_code()
    );
}

TEST_F(SessionTransaction, SeesOthersAsItsIsolationSays) {
    const auto same = [this](connection& on) -> asio::awaitable<bool> {
        const auto before = co_await on.query("SELECT cents FROM account WHERE id = 1");
        world.sql("UPDATE account SET cents = cents + 1 WHERE id = 1");
        const auto after = co_await on.query("SELECT cents FROM account WHERE id = 1");
        co_return before.first().integer(0) == after.first().integer(0);
    };
    for (const auto level :
         {db::isolation::repeatable_read,
          db::isolation::read_committed,
          db::isolation::repeatable_read}) {
        transaction_options options;
        options.level = level;
        options.read_only = true;
        const bool stable = level == db::isolation::repeatable_read;
        EXPECT_EQ(world.run(start(same, options)), stable);
    }
}

TEST_F(SessionTransaction, RepeatsAClosureAfterAConflictOnlyIfItIsToldTo) {
    int attempts = 0;
    int conflicts = 0;
    const auto overtaken = [&](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = cents + 1 WHERE id = 1");
        if (++attempts <= conflicts)
            co_await on.query(session_kind::conflict);
    };
    conflicts = 9;
    const auto why = world.failure_of(start(overtaken));
    EXPECT_EQ(code_of(why), session_kind::conflict_code());
    EXPECT_TRUE(code_of(why) == condition::retryable);
    EXPECT_EQ(attempts, 1);
    transaction_options options;
    options.attempts_max = 4;
    attempts = 0;
    conflicts = 2;
    EXPECT_EQ(text_of(world.failure_of(start(overtaken, options))), "");
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(world.cents(1), "101");
    EXPECT_EQ(session.stats().repeated, 2u);
    attempts = 0;
    conflicts = 9;
    EXPECT_EQ(code_of(world.failure_of(start(overtaken, options))), session_kind::conflict_code());
    EXPECT_EQ(attempts, 4);
    attempts = 0;
    const auto other = [&attempts](connection& on) -> asio::awaitable<void> {
        ++attempts;
        co_await on.query(duplicate);
    };
    EXPECT_EQ(code_of(world.failure_of(start(other, options))), session_kind::duplicate_code());
    EXPECT_EQ(attempts, 1) << "that would fail again";
}

TEST_F(SessionTransaction, AConflictThatTheClosureHidesUndoesItAllTheSame) {
    const auto hides = [](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0 WHERE id = 1");
        EXPECT_EQ(co_await code_after(on, session_kind::conflict), session_kind::conflict_code());
        EXPECT_NE(co_await code_after(on, empty_all), error_code());
    };
    EXPECT_NE(code_of(world.failure_of(start(hides))), error_code());
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(session.stats().connections_opened, 1u);
}

/// Two transactions that lock two rows in opposite orders.
class crossing {
public:
    explicit crossing(const asio::any_io_executor& executor) : one_(executor), two_(executor) {}

    asio::awaitable<void> first(connection& on) { return cross(on, 1, 2, one_, two_); }
    asio::awaitable<void> second(connection& on) { return cross(on, 2, 1, two_, one_); }
    int runs = 0;

private:
    asio::awaitable<void>
    cross(connection& on, int from, int to, coro::event& mine, coro::event& others) {
        ++runs;
        co_await add_cents(from, -1)(on);
        mine.set();
        co_await others.async_wait();
        co_await add_cents(to, -1)(on);
    }

    coro::event one_;
    coro::event two_;
};

/// Has both cross. @return how many fail
int cross(
    session_world& world, session_world::session& session, crossing& both, unsigned attempts
) {
    transaction_options options;
    options.attempts_max = attempts;
    int ended = 0;
    int failed = 0;
    const auto judge = [&](std::exception_ptr why) {
        ++ended;
        failed += why ? 1 : 0;
        EXPECT_TRUE(!why || code_of(why) == session_kind::deadlock_code()) << text_of(why);
    };
    session.async_run([&](connection& on) { return both.first(on); }, options, judge);
    session.async_run([&](connection& on) { return both.second(on); }, options, judge);
    EXPECT_TRUE(world.reaches([&] { return ended == 2; }));
    return failed;
}

TEST_F(SessionTransaction, InADeadlockFailsIfItMayNotBeRepeated) {
    crossing both(world.context.get_executor());
    EXPECT_EQ(cross(world, session, both, 1), 1);
    EXPECT_EQ(both.runs, 2);
    EXPECT_EQ(world.cents(1) + world.cents(2), "9999");
}

TEST_F(SessionTransaction, InADeadlockIsRepeatedIfItMayBe) {
    crossing both(world.context.get_executor());
    EXPECT_EQ(cross(world, session, both, 10), 0);
    EXPECT_GE(both.runs, 3) << "the second attempt may meet the other one again";
    EXPECT_EQ(session.stats().repeated + 2, static_cast<std::uint64_t>(both.runs));
    EXPECT_EQ(world.cents(1) + world.cents(2), "9898");
}

TEST_F(SessionTransaction, RunsStatementsInTheOrderOfTheCalls) {
    using namespace asio::experimental::awaitable_operators;
    const auto both = [](connection& on) -> asio::awaitable<std::int64_t> {
        auto first = on.async_query(
            bound_sql("UPDATE account SET cents = 5 WHERE id = 1", {}), asio::use_awaitable
        );
        auto second = on.async_query(
            bound_sql("SELECT cents FROM account WHERE id = 1", {}), asio::use_awaitable
        );
        auto [one, two] = co_await (std::move(first) && std::move(second));
        EXPECT_EQ(one.affected, 1);
        co_return two.first().integer(0);
    };
    EXPECT_EQ(world.run(start(both)), 5);
}

TEST_F(SessionTransaction, AStatementThatTheClosureDoesNotAwaitUndoesIt) {
    auto blocker = world.open();
    const auto block = [&](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 7 WHERE id = 2");
        const auto leaves = [](connection& mine) -> asio::awaitable<void> {
            co_await mine.query("UPDATE account SET cents = 0 WHERE id = 1");
            mine.async_query(
                bound_sql("UPDATE account SET cents = 0 WHERE id = 2", {}), asio::detached
            );
        };
        auto leaving = session.async_run(leaves, {}, asio::as_tuple(asio::deferred));
        const auto outcome = co_await std::move(leaving);
        EXPECT_EQ(code_of(std::get<0>(outcome)), errc::transaction_control);
    };
    world.run(blocker.async_run(block, {}, asio::use_awaitable));
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(world.cents(2), "7");
    EXPECT_EQ(session.stats().cancelled, 1u) << "the row was locked";
    world.run(start(add_cents(2, 1)));
    EXPECT_EQ(world.cents(2), "8");
}

TEST_F(SessionTransaction, AStatementMayHaveATimeLimitAndTheTransactionGoesOn) {
    const auto limited = [](connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 7 WHERE id = 1");
        co_await on.query("SAVEPOINT before_it");
        auto slow = on.async_query(
            bound_sql(session_kind::sleep_long, {}),
            asio::cancel_after(milliseconds(20), asio::as_tuple(asio::deferred))
        );
        const auto outcome = co_await std::move(slow);
        EXPECT_EQ(code_of(std::get<0>(outcome)), asio::error::operation_aborted);
        co_await on.query("ROLLBACK TO SAVEPOINT before_it");
        co_await on.query("UPDATE account SET cents = 8 WHERE id = 2");
    };
    EXPECT_EQ(text_of(world.failure_of(start(limited))), "");
    EXPECT_EQ(world.cents(1) + world.cents(2), "78");
    EXPECT_EQ(session.stats().cancelled, 1u);
    EXPECT_EQ(session.stats().connections_abandoned, 0u);
    world.run(start(add_cents(3, 1)));
}

TEST_F(SessionTransaction, ThatSucceedsAtTheMomentOfASignalIsUndone) {
    asio::cancellation_signal signal;
    std::optional<error_code> code;
    const auto work = [&](connection& on) -> asio::awaitable<void> {
        co_await on.query(empty_all);
        signal.emit(asio::cancellation_type::partial);
    };
    session.async_run(
        work,
        {},
        asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr why) { code = code_of(why); }
        )
    );
    EXPECT_TRUE(world.reaches([&] { return code.has_value(); }));
    EXPECT_EQ(code, asio::error::operation_aborted);
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(session.stats().rolled_back, 1u);
}

TEST_F(SessionTransaction, GivesValuesBackAsTheyWereBound) {
    const std::string bytes("\0\x01\xff", 3);
    world.sql("CREATE TABLE IF NOT EXISTS note(id int PRIMARY KEY, words text)");
    world.sql("DELETE FROM note");
    world.run(start([](connection& on) -> asio::awaitable<void> {
        const std::string words = "quote ' and \\ and ? and $1";
        co_await on.query(marked("INSERT INTO note VALUES(?, ?)"), 1, words);
        co_await on.query(marked("INSERT INTO note VALUES(?, ?)"), 2, nullptr);
        const auto found = co_await on.query(marked("SELECT words FROM note WHERE id = ?"), 1);
        EXPECT_EQ(found.first().text(0), words);
        const auto none = co_await on.query("SELECT words FROM note WHERE id = 2");
        EXPECT_TRUE(none.first().is_null(0));
    }));
    world.sql("DROP TABLE note");
}

TEST_F(SessionTransaction, AStatementByItselfIsCommittedWhenItCompletes) {
    std::optional<error_code> code;
    const auto note = [&](std::exception_ptr why, const query_result&) { code = code_of(why); };
    const auto ask = [&](const std::string& text) {
        code.reset();
        start_alone(text, note);
        EXPECT_TRUE(world.reaches([&] { return code.has_value(); }));
        return *code;
    };
    EXPECT_EQ(ask("UPDATE account SET cents = 3 WHERE id = 1"), error_code());
    EXPECT_EQ(world.cents(1), "3");
    EXPECT_EQ(ask(duplicate), session_kind::duplicate_code());
    EXPECT_EQ(ask("SELEC 1"), session_kind::syntax_code());
    EXPECT_EQ(ask("CREATE TABLE by_itself(id int)"), error_code()) << "it may define something";
    EXPECT_EQ(ask("DROP TABLE by_itself"), error_code());
    for (const char* const text : {"BEGIN", "START TRANSACTION", "COMMIT", " rollback"})
        EXPECT_EQ(ask(text), errc::transaction_control) << text;
    EXPECT_EQ(session.stats().connections_opened, 1u);
    EXPECT_EQ(session.stats().in_use, 0u);
    session.query(marked("UPDATE account SET cents = ? WHERE id = ?"), 4, 1)(note);
    code.reset();
    EXPECT_TRUE(world.reaches([&] { return code.has_value(); }));
    EXPECT_EQ(world.cents(1), "4");
}

TEST_F(SessionTransaction, AStatementByItselfThatLosesItsConnectionMayHaveBeenDone) {
    std::optional<error_code> code;
    start_alone(session_kind::sleep_long, [&](std::exception_ptr why, const query_result&) {
        code = code_of(why);
    });
    EXPECT_TRUE(world.await_running("3600"));
    world.end_connections();
    EXPECT_TRUE(world.reaches([&] { return code.has_value(); }));
    EXPECT_EQ(code, errc::outcome_unknown);
}

TEST_F(SessionTransaction, AStatementByItselfIsCancelledAtTheServer) {
    asio::cancellation_signal signal;
    std::optional<error_code> code;
    start_alone(
        session_kind::sleep_long,
        asio::bind_cancellation_slot(
            signal.slot(), [&](std::exception_ptr why, const query_result&) { code = code_of(why); }
        )
    );
    EXPECT_TRUE(world.await_running("3600"));
    signal.emit(asio::cancellation_type::total);
    EXPECT_TRUE(world.reaches([&] { return code.has_value(); }));
    EXPECT_EQ(code, asio::error::operation_aborted);
    EXPECT_EQ(world.sql(session_kind::running("3600")), "0");
    EXPECT_EQ(session.stats().cancelled, 1u);
}

TEST_F(SessionTransaction, RefusesLimitsOutsideOfTheirLimits) {
    using config = session_kind::config;
    EXPECT_TRUE(world.refuses([](config& c) { c.connections_max = 0; }));
    EXPECT_TRUE(world.refuses([](config& c) { c.connections_max = 1'001; }));
    EXPECT_TRUE(world.refuses([](config& c) { c.connect_max = milliseconds(0); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.cancel_max = milliseconds(0); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.answer_max = milliseconds(0); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.prepared_max = milliseconds(0); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.wait_max = milliseconds(-1); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.check_after = milliseconds(-1); }));
    EXPECT_TRUE(world.refuses([](config& c) { c.lifetime_max = milliseconds(0); }));
    EXPECT_FALSE(world.refuses([](config&) {}));
}

}  // namespace
}  // namespace mortise::test::session_transaction_test
