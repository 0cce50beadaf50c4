// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/clock.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/db/postgres.hpp"
#include "mortise/detail/defaults.hpp"
#include "support/eventually.hpp"
#include "support/postgres_proxy.hpp"
#include "support/tls_material.hpp"
#include "unit/postgres/postgres_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::postgres_fault_test {
namespace {

using db::lost_commit;
using db::postgres_connection;
using db::postgres_error;
using db::transaction_mark;
using db::transaction_options;
using db::transaction_outcome;
using deed = postgres_proxy::deed;
using std::chrono::milliseconds;

constexpr const char* every_connection =
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name ="
    " 'mortise'";

class PostgresFault : public testing::Test {
protected:
    db::postgres_config through_proxy() {
        proxy =
            std::make_unique<postgres_proxy>(world.context.get_executor(), world.server().port());
        auto config = world.config();
        config.servers = {{"127.0.0.1", proxy->port()}};
        return config;
    }
    std::exception_ptr add(db::postgres& session, transaction_options options = {}) {
        return world.failure_of(session.async_run(add_cents(1, 1), options, asio::use_awaitable));
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
    // Asks until the server has noticed the end of the connection.
    transaction_outcome outcome_of(db::postgres& session, const transaction_mark& mark) {
        auto outcome = transaction_outcome::in_progress;
        eventually([&] {
            outcome = world.run(session.async_outcome(mark, asio::use_awaitable));
            return outcome != transaction_outcome::in_progress;
        });
        return outcome;
    }

    postgres_world world;
    std::unique_ptr<postgres_proxy> proxy;
};

TEST_F(PostgresFault, ACommitWhoseAnswerIsLostCanBeLookedUp) {
    auto session = world.open(through_proxy());
    proxy->at("COMMIT", deed::cut_answer);
    const auto why = add(session);
    EXPECT_EQ(code_of(why), errc::commit_unknown);
    const auto mark = mark_of(why);
    EXPECT_FALSE(mark.empty());
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::committed);
    EXPECT_EQ(world.cents(1), "101");
    EXPECT_EQ(session.stats().commits_unknown, 1u);
}

TEST_F(PostgresFault, ACommitThatNeverArrivedCanBeLookedUp) {
    auto session = world.open(through_proxy());
    proxy->at("COMMIT", deed::cut);
    const auto mark = mark_of(add(session));
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::rolled_back);
    EXPECT_EQ(world.cents(1), "100");
}

TEST_F(PostgresFault, ALostCommitOfNothingIsNotUnknown) {
    auto session = world.open(through_proxy());
    auto reads = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("SELECT 1");
    };
    for (const bool read_only : {false, true}) {
        transaction_options options;
        options.read_only = read_only;
        proxy->at("COMMIT", deed::cut_answer);
        const auto why = world.failure_of(session.async_run(reads, options, asio::use_awaitable));
        EXPECT_EQ(code_of(why), errc::store_unavailable) << read_only;
        EXPECT_FALSE(proxy->pending());
    }
}

TEST_F(PostgresFault, ACommitThatIsNotTracedCannotBeLookedUp) {
    auto session = world.open(through_proxy());
    transaction_options options;
    options.traced = false;
    proxy->at("COMMIT", deed::cut_answer);
    const auto mark = mark_of(add(session, options));
    EXPECT_TRUE(mark.empty());
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::unknown);
}

TEST_F(PostgresFault, MarksOfAnotherHistoryAreUnknown) {
    auto session = world.open();
    const std::string history =
        world.sql("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)");
    const std::string past =
        world.sql("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
                  " - 1");
    EXPECT_NE(outcome_of(session, {past, history}), transaction_outcome::unknown);
    EXPECT_EQ(outcome_of(session, {past, "0000002A"}), transaction_outcome::unknown);
    EXPECT_EQ(outcome_of(session, {"999999999999", history}), transaction_outcome::unknown)
        << "this server has not come so far: it has lost the transaction";
    EXPECT_EQ(outcome_of(session, {}), transaction_outcome::unknown);
}

TEST_F(PostgresFault, AStatementThatIsLostUndoesItsTransaction) {
    auto session = world.open(through_proxy());
    proxy->at("UPDATE account", deed::cut);
    EXPECT_EQ(code_of(add(session)), errc::store_unavailable);
    proxy->at("UPDATE account", deed::cut_answer);
    EXPECT_EQ(code_of(add(session)), errc::store_unavailable);
    EXPECT_EQ(text_of(add(session)), "");
    EXPECT_EQ(world.cents(1), "101");
    EXPECT_EQ(proxy->connections(), 3u);
}

TEST_F(PostgresFault, AConnectionMayBeTerminatedInEachState) {
    auto session = world.open();
    const auto idle_in_transaction = [this](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        world.sql(every_connection);
        co_await on.query("SELECT 1");
    };
    EXPECT_EQ(
        code_of(world.failure_of(session.async_run(idle_in_transaction, {}, asio::use_awaitable))),
        postgres_error("57P01")
    );
    const auto before_commit = [this](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        world.sql(every_connection);
    };
    const auto why = world.failure_of(session.async_run(before_commit, {}, asio::use_awaitable));
    EXPECT_EQ(code_of(why), postgres_error("57P01")) << "no commit was sent, so that is known";
    const auto running = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        co_await on.query("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(3600)");
    };
    EXPECT_EQ(
        code_of(world.failure_of(session.async_run(running, {}, asio::use_awaitable))),
        postgres_error("57P01")
    );
    EXPECT_EQ(text_of(add(session)), "");
    EXPECT_EQ(world.cents(1), "101");
}

TEST_F(PostgresFault, SurvivesRestartsOfTheServer) {
    postgres_server own;
    postgres_world there(own);
    auto session = there.open();
    int restarts = 0;
    const auto restart = [&](bool fast) {
        return [&, fast](postgres_connection& on) -> asio::awaitable<void> {
            co_await on.query("UPDATE account SET cents = 0");
            fast ? own.stop() : own.stop_immediately();
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

TEST_F(PostgresFault, AStoppedServerHoldsNobodyUpWhoCancels) {
    postgres_server own;
    postgres_world there(own);
    auto config = there.config();
    config.cancel_max = milliseconds(50);
    auto session = there.open(config);
    asio::cancellation_signal signal;
    const auto stops = [&](postgres_connection& on) -> asio::awaitable<void> {
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
    there.step_while([&] { return !code; });
    EXPECT_EQ(*code, asio::error::operation_aborted);
    own.resume();
    EXPECT_EQ(there.cents(1), "100");
    there.run(session.async_run(add_cents(1, 1), {}, asio::use_awaitable));
    EXPECT_EQ(there.cents(1), "101");
}

TEST_F(PostgresFault, ACommitThatIsNotAnsweredIsUnknownSoonAfterACancellation) {
    auto config = through_proxy();
    config.cancel_max = milliseconds(50);
    auto session = world.open(config);
    proxy->at("COMMIT", deed::stall);
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
    world.step_while([&] { return proxy->pending(); });
    EXPECT_TRUE(eventually([&] { return world.cents(1) == "101"; })) << "the server has it";
    EXPECT_FALSE(ended);
    signal.emit(asio::cancellation_type::total);
    world.step_while([&] { return !ended; });
    EXPECT_EQ(outcome_of(session, mark_of(failure)), transaction_outcome::committed);
}

TEST_F(PostgresFault, ARollbackThatIsNotAnsweredHoldsNobodyUpWhoCancels) {
    auto config = through_proxy();
    config.cancel_max = milliseconds(50);
    auto session = world.open(config);
    proxy->at("ROLLBACK", deed::stall);
    asio::cancellation_signal signal;
    coro::event never(world.context.get_executor());
    bool waiting = false;
    const auto waits = [&](postgres_connection& on) -> asio::awaitable<void> {
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
    world.step_while([&] { return !waiting; });
    signal.emit(asio::cancellation_type::terminal);
    const auto end = clock::now() + std::chrono::seconds(60);
    world.step_while([&] { return !code && clock::now() < end; });
    EXPECT_EQ(code, asio::error::operation_aborted);
    EXPECT_FALSE(proxy->pending());
}

TEST_F(PostgresFault, ACommitAfterACancellationThatTheClosureIgnoredIsUnknownSoon) {
    auto config = through_proxy();
    config.cancel_max = milliseconds(50);
    auto session = world.open(config);
    proxy->at("COMMIT", deed::stall);
    asio::cancellation_signal signal;
    bool waiting = false;
    coro::event gate(world.context.get_executor());
    const auto ignores = [&](postgres_connection& on) -> asio::awaitable<void> {
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
    world.step_while([&] { return !waiting; });
    signal.emit(asio::cancellation_type::terminal);
    world.context.restart();
    world.context.poll();
    gate.set();
    const auto end = clock::now() + std::chrono::seconds(60);
    world.step_while([&] { return !failure && clock::now() < end; });
    ASSERT_TRUE(failure);
    EXPECT_EQ(outcome_of(session, mark_of(*failure)), transaction_outcome::committed);
}

TEST_F(PostgresFault, TheNewestTransactionIsInProgressAsLongAsItRuns) {
    auto session = world.open();
    const auto looks = [&](postgres_connection& on) -> asio::awaitable<transaction_mark> {
        const auto found = co_await on.query(
            "SELECT pg_current_xact_id()::text, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
        );
        const transaction_mark mark(found.first().text(0), found.first().text(1));
        EXPECT_EQ(
            co_await session.async_outcome(mark, asio::use_awaitable),
            transaction_outcome::in_progress
        );
        co_return mark;
    };
    const auto mark = world.run(session.async_run(looks, {}, asio::use_awaitable));
    EXPECT_EQ(outcome_of(session, mark), transaction_outcome::committed);
}

TEST_F(PostgresFault, AConnectionThatEndedBeforeTheCommitLeavesNothingUnknown) {
    auto session = world.open();
    transaction_options options;
    options.traced = false;
    const auto before_commit = [this](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("UPDATE account SET cents = 0");
        world.sql(every_connection);
    };
    const auto why =
        world.failure_of(session.async_run(before_commit, options, asio::use_awaitable));
    EXPECT_EQ(code_of(why), postgres_error("57P01")) << text_of(why);
}

// A server in recovery refuses this level; a statement behind the BEGIN would run without it.
TEST_F(PostgresFault, NoStatementRunsOutsideOfATransactionThatCannotBegin) {
    postgres_server own;
    postgres_world there(own);
    own.stop();
    std::ofstream(own.data() / "standby.signal").close();
    own.give(own.data() / "standby.signal");
    own.start();
    auto session = there.open();
    transaction_options options;
    options.level = db::isolation::serializable;
    int refused = 0;
    const auto persists = [&](postgres_connection& on) -> asio::awaitable<void> {
        for (int i = 0; i < 2; ++i) {
            auto one = on.async_query(db::bound_sql("SELECT 1"), asio::as_tuple(asio::deferred));
            const auto outcome = co_await std::move(one);
            refused += std::get<0>(outcome) ? 1 : 0;
        }
    };
    const auto why = there.failure_of(session.async_run(persists, options, asio::use_awaitable));
    EXPECT_EQ(code_of(why), postgres_error("0A000")) << text_of(why);
    EXPECT_EQ(refused, 2);
}

TEST_F(PostgresFault, SaysThatTheServerHasTooManyConnections) {
    postgres_server own(
        {"max_connections=3", "superuser_reserved_connections=0", "max_wal_senders=0"}
    );
    postgres_world there(own);
    auto session = there.open();
    int ended = 0;
    int refused = 0;
    const auto slow = [](postgres_connection& on) -> asio::awaitable<void> {
        co_await on.query("SELECT pg_sleep(0.05)");
    };
    for (int i = 0; i < 6; ++i) {
        session.async_run(slow, {}, [&](std::exception_ptr why) {
            ++ended;
            if (code_of(why) == postgres_error("53300"))
                ++refused;
            else
                EXPECT_FALSE(why) << text_of(why);
        });
    }
    there.step_while([&] { return ended < 6; });
    EXPECT_GE(refused, 1);
    EXPECT_TRUE(postgres_error("53300") == condition::retryable);
}

class PostgresTls : public testing::Test {
protected:
    // Has the server prove to be this one.
    void speak_as(const tls_material::identity& identity) {
        const auto copy = [&](const std::filesystem::path& from, const char* to) {
            const auto place = server_.data() / to;
            std::filesystem::copy_file(
                from, place, std::filesystem::copy_options::overwrite_existing
            );
            std::filesystem::permissions(place, std::filesystem::perms::owner_read);
            server_.give(place);
        };
        std::filesystem::remove(server_.data() / "server.crt");
        std::filesystem::remove(server_.data() / "server.key");
        copy(identity.certificate, "server.crt");
        copy(identity.key, "server.key");
        server_.run("ALTER SYSTEM SET ssl = on");
        server_.restart();
    }
    std::exception_ptr look(const db::postgres_config& config) {
        auto session = world_.open(config);
        auto encrypted = [](postgres_connection& on) -> asio::awaitable<void> {
            const auto found =
                co_await on.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
            EXPECT_EQ(found.first().integer(0), 1);
        };
        return world_.failure_of(session.async_run(encrypted, {}, asio::use_awaitable));
    }

    postgres_server server_;
    postgres_world world_{server_};
};

TEST_F(PostgresTls, ChecksTheAuthorityAndTheNameOfTheHost) {
    speak_as(shared_tls().server());
    auto config = world_.config();
    config.tls = true;
    config.ca_file = shared_tls().authority();
    config.servers = {{"localhost", server_.port()}};
    EXPECT_EQ(text_of(look(config)), "");
    config.servers = {{"127.0.0.1", server_.port()}};
    EXPECT_EQ(text_of(look(config)), "");
    config.ca_file.clear();
    EXPECT_EQ(code_of(look(config)), errc::untrusted_server) << "the system does not trust it";
    config.ca_file = "/nowhere/ca.pem";
    EXPECT_EQ(code_of(look(config)), errc::bad_config);
    config.ca_file = shared_tls().authority();
    speak_as(shared_tls().elsewhere());
    EXPECT_EQ(code_of(look(config)), errc::untrusted_server);
    speak_as(shared_tls().stranger());
    EXPECT_EQ(code_of(look(config)), errc::untrusted_server);
}

}  // namespace
}  // namespace mortise::test::postgres_fault_test
