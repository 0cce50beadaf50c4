// SPDX-License-Identifier: BSL-1.0
// Transactions that are prepared, and ended later: by the same session, by another one, after a
// crash of the server.
#include "mortise/coro/virtual_time.hpp"
#include "support/statement_proxy.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::test::session_prepare_test {
namespace {

using connection = session_kind::connection;
using db::prepared_end;
using db::prepared_name;
using deed = statement_proxy::deed;

/// Adds to an account, and wants to be prepared, or not.
auto add_prepared(int id, int cents, bool prepares = true) {
    return [id, cents, prepares](connection& on) -> asio::awaitable<bool> {
        const auto text = session_kind::marked("UPDATE account SET cents = cents + ? WHERE id = ?");
        auto adding = on.query(text, cents, id);
        co_await std::move(adding);
        co_return prepares;
    };
}

class SessionPrepare : public testing::Test {
protected:
    ~SessionPrepare() override {
        EXPECT_EQ(world.sql(session_kind::prepared_any), "") << "left prepared";
    }

    template <class Work>
    bool prepare(session_world::session& session, Work work, const prepared_name& called) {
        return world.run(session.async_prepare(called, work, {}, asio::use_awaitable));
    }
    template <class Work>
    std::exception_ptr
    failure_of_prepare(session_world::session& session, Work work, const prepared_name& called) {
        return world.failure_of(session.async_prepare(called, work, {}, asio::use_awaitable));
    }
    bool finish(session_world::session& session, const prepared_name& called, prepared_end how) {
        return world.run(session.async_finish(called, how, asio::use_awaitable));
    }
    /// Until the server has it: another connection may hold it still, which has just been closed.
    bool finish_in_the_end(
        session_world::session& session, const prepared_name& called, prepared_end how
    ) {
        return world.reaches([&] { return finish(session, called, how); });
    }
    void stop(session_world::session& session) {
        bool stopped = false;
        session.async_stop([&](error_code failed) { stopped = !failed; });
        EXPECT_TRUE(world.reaches([&] { return stopped; }));
    }

    session_world world;
    const prepared_name name{"mortise.test-1", "1"};
};

TEST_F(SessionPrepare, CommitsByTheSameSession) {
    auto session = world.open();
    EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
    EXPECT_EQ(session.stats().prepared, 1u);
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_TRUE(finish(session, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1), "105");
    EXPECT_FALSE(finish(session, name, prepared_end::commit)) << "it was ended before";
    EXPECT_EQ(session.stats().in_use, 0u);
}

TEST_F(SessionPrepare, RollsBackAndLetsGoOfItsLocks) {
    auto session = world.open();
    EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
    EXPECT_TRUE(finish(session, name, prepared_end::roll_back));
    EXPECT_EQ(world.cents(1), "100");
    world.run(session.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(world.cents(1), "101");
}

TEST_F(SessionPrepare, BranchesOfOneTransactionDiffer) {
    auto session = world.open();
    const prepared_name second("mortise.test-1", "2");
    EXPECT_TRUE(prepare(session, add_prepared(1, -5), name));
    EXPECT_TRUE(prepare(session, add_prepared(2, 5), second));
    EXPECT_TRUE(finish(session, second, prepared_end::commit));
    EXPECT_TRUE(finish(session, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1) + " " + world.cents(2), "95 105");
}

TEST_F(SessionPrepare, AClosureMayCommitAtOnce) {
    auto session = world.open();
    EXPECT_FALSE(prepare(session, add_prepared(1, 5, false), name));
    EXPECT_EQ(world.cents(1), "105");
    EXPECT_FALSE(finish(session, name, prepared_end::roll_back));
}

TEST_F(SessionPrepare, AClosureThatThrowsLeavesNothingPrepared) {
    auto session = world.open();
    const auto work = [](connection& on) -> asio::awaitable<bool> {
        auto adding = on.query("UPDATE account SET cents = cents + 5 WHERE id = 1");
        co_await std::move(adding);
        throw error(errc::row_missing, "no", "");
    };
    EXPECT_EQ(code_of(failure_of_prepare(session, work, name)), errc::row_missing);
    EXPECT_FALSE(finish(session, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1), "100");
    EXPECT_EQ(session.stats().rolled_back, 1u);
}

TEST_F(SessionPrepare, AStatementThatFailsLeavesNothingPrepared) {
    auto session = world.open();
    EXPECT_EQ(
        code_of(failure_of_prepare(session, add_prepared(1, -500), name)),
        session_kind::check_code()
    );
    EXPECT_FALSE(finish(session, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(SessionPrepare, WithoutAStatementNothingIsPrepared) {
    auto session = world.open();
    const auto work = [](connection&) -> asio::awaitable<bool> { co_return true; };
    const bool prepared = prepare(session, work, name);
    EXPECT_EQ(finish(session, name, prepared_end::commit), prepared);
}

TEST_F(SessionPrepare, ATakenNameIsRefusedAndHarmsNothing) {
    auto session = world.open();
    EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
    EXPECT_EQ(
        code_of(failure_of_prepare(session, add_prepared(2, 5), name)), session_kind::taken_code()
    );
    EXPECT_TRUE(finish(session, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1) + " " + world.cents(2), "105 100");
}

TEST_F(SessionPrepare, SurvivesItsSession) {
    {
        auto session = world.open();
        EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
        stop(session);
    }
    auto other = world.open();
    EXPECT_TRUE(finish_in_the_end(other, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1), "105");
}

TEST_F(SessionPrepare, ANameThatIsUsedAgainTakesNoConnectionForGood) {
    auto session = world.open();
    EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
    world.end_connections();
    auto other = world.open();
    EXPECT_TRUE(finish_in_the_end(other, name, prepared_end::roll_back));
    EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
    EXPECT_TRUE(finish(session, name, prepared_end::commit));
    EXPECT_EQ(session.stats().in_use, 0u);
    EXPECT_EQ(world.cents(1), "105");
}

// Where a connection holds what it has prepared, it lets go of it: the end may come from elsewhere.
TEST_F(SessionPrepare, IsForOthersToEndAfterAWhile) {
    const auto time = std::make_shared<coro::virtual_time>(world.context.get_executor());
    auto config = world.config();
    config.time = time;
    auto session = world.open(config);
    EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
    time->advance(config.prepared_max + std::chrono::milliseconds(1));
    auto other = world.open();
    EXPECT_TRUE(finish_in_the_end(other, name, prepared_end::commit));
    EXPECT_EQ(world.cents(1), "105");
}

TEST_F(SessionPrepare, SurvivesACrashOfTheServer) {
    session_world spare(spare_server());
    auto session = spare.open();
    EXPECT_TRUE(spare.run(session.async_prepare(name, add_prepared(1, 5), {}, asio::use_awaitable))
    );
    session_kind::crash(spare.server());
    spare.server().start();
    auto other = spare.open();
    EXPECT_TRUE(spare.run(other.async_finish(name, prepared_end::commit, asio::use_awaitable)));
    EXPECT_EQ(spare.cents(1), "105");
}

TEST_F(SessionPrepare, ALostAnswerToThePreparationIsToldAsUnknown) {
    for (const auto how : {deed::cut, deed::cut_answer}) {
        statement_proxy proxy(world.context.get_executor(), world.server().port());
        auto config = world.config();
        session_kind::place(config, proxy.port());
        auto session = world.open(config);
        proxy.at(session_kind::prepare_text, how);
        EXPECT_EQ(
            code_of(failure_of_prepare(session, add_prepared(1, 5), name)), errc::outcome_unknown
        );
        const bool arrived = how == deed::cut_answer;
        auto direct = world.open();
        if (arrived) {
            EXPECT_TRUE(finish_in_the_end(direct, name, prepared_end::roll_back));
        }
        // Nothing holds the row any longer.
        world.run(direct.async_run(add_cents(1, 0), {}, asio::use_awaitable));
        EXPECT_EQ(world.cents(1), "100");
    }
}

TEST_F(SessionPrepare, ALostAnswerToTheEndIsToldAsUnknownAndAskedForAgain) {
    for (const auto how : {deed::cut, deed::cut_answer}) {
        const auto before = std::stoi(world.cents(1));
        statement_proxy proxy(world.context.get_executor(), world.server().port());
        auto config = world.config();
        session_kind::place(config, proxy.port());
        auto session = world.open(config);
        EXPECT_TRUE(prepare(session, add_prepared(1, 5), name));
        proxy.at(session_kind::commit_prepared_text, how);
        EXPECT_EQ(
            code_of(world.failure_of(
                session.async_finish(name, prepared_end::commit, asio::use_awaitable)
            )),
            errc::outcome_unknown
        );
        if (how == deed::cut) {
            EXPECT_TRUE(finish_in_the_end(session, name, prepared_end::commit));
        }
        EXPECT_TRUE(world.reaches([&] { return world.cents(1) != std::to_string(before); }));
        EXPECT_FALSE(finish(session, name, prepared_end::commit));
        EXPECT_EQ(world.cents(1), std::to_string(before + 5));
    }
}

TEST_F(SessionPrepare, TheEndOfATransactionIsTheSessions) {
    auto session = world.open();
    for (const char* const statement : session_kind::two_phase_statements) {
        EXPECT_EQ(
            code_of(world.failure_of(
                session.async_query(db::bound_sql(statement, {}), asio::use_awaitable)
            )),
            errc::transaction_control
        ) << statement;
    }
}

TEST(PreparedName, HasPartsThatNeedNoQuoting) {
    const std::string longest(64, 'x');
    EXPECT_EQ(prepared_name(longest, "a.b_c:D-9").global(), longest);
    for (const auto& bad : {std::string(), longest + "x", std::string("a'b"), std::string("ä")}) {
        EXPECT_THROW(prepared_name(bad, "1"), error) << bad;
        EXPECT_THROW(prepared_name("g", bad), error) << bad;
    }
    EXPECT_TRUE(prepared_name().empty());
    EXPECT_LT(prepared_name("g", "1"), prepared_name("g", "2"));
}

}  // namespace
}  // namespace mortise::test::session_prepare_test
