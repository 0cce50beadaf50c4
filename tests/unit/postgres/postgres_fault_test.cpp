// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres.hpp"
#include "support/eventually.hpp"
#include "support/statement_proxy.hpp"
#include "support/tls_material.hpp"
#include "unit/session/session_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test::postgres_fault_test {
namespace {

using db::postgres_connection;
using db::postgres_error;
using db::transaction_mark;
using db::transaction_options;
using db::transaction_outcome;
using deed = statement_proxy::deed;

constexpr const char* every_connection =
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name ="
    " 'mortise'";

class PostgresFault : public testing::Test {
protected:
    db::postgres_config through_proxy() {
        proxy =
            std::make_unique<statement_proxy>(world.context.get_executor(), world.server().port());
        auto config = world.config();
        config.servers = {{"127.0.0.1", proxy->port()}};
        return config;
    }
    std::exception_ptr add(db::postgres& session, transaction_options options = {}) {
        return world.failure_of(session.async_run(add_cents(1, 1), options, asio::use_awaitable));
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

    session_world world;
    std::unique_ptr<statement_proxy> proxy;
};

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
    session_world there(own);
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
    session_world there(own);
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
    session_world world_{server_};
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
