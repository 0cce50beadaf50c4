// SPDX-License-Identifier: BSL-1.0
// What a PostgreSQL server and its administrators do to a store: no room for notifications, a
// standby that lags behind, connections that are terminated.
#include "mortise/open_store.hpp"
#include "mortise/store/postgres.hpp"
#include "support/postgres_server.hpp"
#include "unit/sql_store/store_user.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test::postgres_server_fault_test {
namespace {

using namespace std::chrono_literals;

// The server's queue of notifications holds 8 GB before it is full, so the cause is simulated: in
// this database, `pg_notify` looks into a table. The refusal is real, and comes with the server's
// code and words when the server's would: at the end of the transaction that notifies.
constexpr const char* notify_by_table = R"(
SET allow_system_table_mods = on;
CREATE TABLE public.notify_full (one int);
CREATE TABLE public.notify_refused (one int);
CREATE FUNCTION public.refuse_notify() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON public.notify_refused
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.refuse_notify();
ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO pg_notify_really;
CREATE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT FROM public.notify_full) THEN INSERT INTO public.notify_refused VALUES (1);
  ELSE PERFORM pg_notify_really($1, $2); END IF; END $$;
ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO queue_usage_really;
CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS double precision LANGUAGE sql AS
  'SELECT count(*)::double precision FROM public.notify_full';
)";

/// A database whose queue of notifications is full when the test says so.
class PostgresNotifications : public testing::TestWithParam<lock_mode> {
protected:
    PostgresNotifications() { administrator.run(notify_by_table); }

    store_user user(std::chrono::milliseconds ttl) const {
        return store_user(open_store(shared_postgres().url(database)), ttl);
    }

    bool both_are_there() { return parties() == "2"; }
    std::string parties() {
        return administrator.run("SELECT (SELECT count(*) FROM mortise.waiter) +"
                                 " (SELECT count(*) FROM mortise.lock WHERE holder IS NOT NULL)");
    }

    /// Hands the door from one to the other.
    void hand_over(store_user& from, store_user& to) {
        lease held;
        ASSERT_FALSE(from.acquire("door", held, {.mode = GetParam()}));
        std::optional<error_code> code;
        lease next;
        to.begin("door", next, code);
        EXPECT_TRUE(to.run_until([&] {
            from.poll();
            return both_are_there();
        }));
        EXPECT_FALSE(from.release(held)) << from.locks->explain();
        EXPECT_EQ(held.state(), lease_state::released);
        EXPECT_TRUE(to.run_until([&] {
            from.poll();
            return code.has_value();
        }));
        EXPECT_EQ(code, error_code());
        EXPECT_GT(next.token().value, held.token().value);
        EXPECT_FALSE(to.release(next)) << to.locks->explain();
    }

    const std::string database = shared_postgres().create_database("notify");
    postgres_administrator administrator{shared_postgres().url(database)};
};

TEST_P(PostgresNotifications, ThatCannotBeSentUndoNoReleaseAndHoldNobodyUp) {
    store_user alice = user(3s);
    store_user bob = user(3s);
    administrator.run("INSERT INTO public.notify_full VALUES (1)");
    hand_over(alice, bob);
    const auto is_told = [&] {  // a little later than of the release
        return alice.locks->explain().find("too many notifications") != std::string::npos;
    };
    EXPECT_TRUE(alice.run_until(is_told)) << alice.locks->explain();
    store_user doctor = user(3s);
    std::string judged;
    std::optional<error_code> answer;
    doctor.locks->async_examine([&](error_code code, const std::vector<store_finding>& found) {
        answer = code;
        for (const auto& each : found) {
            if (each.subject == "notifications" && each.judgement == store_finding::verdict::weak)
                judged = each.found;
        }
    });
    EXPECT_TRUE(doctor.run_until([&] { return answer.has_value(); }));
    EXPECT_EQ(answer, error_code());
    EXPECT_NE(judged, "") << "doctor says nothing";
    EXPECT_FALSE(alice.stop());
    EXPECT_FALSE(bob.stop());
    EXPECT_EQ(parties(), "0");
}

// With such a TTL, heartbeats would come too late to help.
TEST_P(PostgresNotifications, AreSentAgainWhenThereIsRoom) {
    store_user alice = user(1h);
    store_user bob = user(1h);
    administrator.run("INSERT INTO public.notify_full VALUES (1)");
    lease held;
    ASSERT_FALSE(alice.acquire("window", held, {.mode = GetParam()}));
    EXPECT_FALSE(alice.release(held));
    administrator.run("DELETE FROM public.notify_full");
    hand_over(alice, bob);
}

INSTANTIATE_TEST_SUITE_P(
    OfALock,
    PostgresNotifications,
    testing::Values(lock_mode::exclusive(), lock_mode::shared()),
    [](const auto& of) { return of.param == lock_mode::shared() ? "Shared" : "Exclusive"; }
);

// It knows nothing of what was granted, drawn and renewed while it lagged behind.
TEST(PostgresStandby, ThatLagsBehindGrantsNothingTooSoonWhenItIsPromoted) {
    constexpr auto ttl = 2s;
    postgres_server primary;
    const auto standby = primary.make_standby();
    auto config = parse_postgres_store_url(primary.url());
    config.server.servers.emplace_back("127.0.0.1", standby->port());
    store_user alice(make_postgres_store(config), ttl);
    store_user bob(make_postgres_store(config), ttl);
    lease window;
    ASSERT_FALSE(alice.acquire("window", window));
    const auto followed = [&] {  // as far as the ledger of TTLs
        try {
            return standby->run("SELECT count(*) FROM mortise.lease_time") == "1";
        } catch (const std::runtime_error&) {
            return false;  // there is no such table yet
        }
    };
    EXPECT_TRUE(alice.run_until(followed));
    standby->suspend();
    lease held;
    std::uint64_t highest = 0;
    for (int grant = 0; grant < 5; ++grant) {
        ASSERT_FALSE(alice.acquire("door", held));
        EXPECT_GT(held.token().value, highest);
        highest = held.token().value;
        if (grant < 4) {
            EXPECT_FALSE(alice.release(held));
        }
    }
    const auto beaten = alice.locks->stats().heartbeats;
    EXPECT_TRUE(alice.run_until([&] { return alice.locks->stats().heartbeats > beaten; }));
    primary.kill();
    const auto believed = held.valid_until();
    standby->resume();
    EXPECT_EQ(standby->run("SELECT pg_promote()"), "t");
    lease next;
    EXPECT_FALSE(bob.acquire("door", next)) << bob.locks->explain();
    EXPECT_GE(clock::now(), believed) << "two held it";
    EXPECT_GT(next.token().value, highest);
    EXPECT_FALSE(bob.release(next));
    EXPECT_TRUE(alice.run_until([&] { return held.state() == lease_state::lost; }));
}

/// The connection of a holder, of a waiter, or of both is terminated. Sessions listen on the same
/// one.
enum class terminated { holder, waiter, both };

const char* to_string(terminated side) {
    constexpr const char* names[] = {"Holder", "Waiter", "Both"};
    return names[static_cast<int>(side)];
}

class PostgresTermination : public testing::TestWithParam<terminated> {};

TEST_P(PostgresTermination, LosesNothing) {
    const std::string database = shared_postgres().create_database("terminate");
    postgres_administrator administrator(shared_postgres().url(database));
    store_user alice(open_store(shared_postgres().url(database)), 30s);
    store_user bob(open_store(shared_postgres().url(database)), 30s);
    lease held;
    ASSERT_FALSE(alice.acquire("door", held));
    std::optional<error_code> code;
    lease next;
    bob.begin("door", next, code);
    EXPECT_TRUE(bob.run_until([&] {
        return administrator.run("SELECT count(*) FROM mortise.waiter") == "1";
    }));
    const std::string end = "SELECT pg_terminate_backend(process::int, 10000) FROM mortise.session";
    const std::string of_holder = "key IN (SELECT holder FROM mortise.lock)";
    if (GetParam() == terminated::holder)
        administrator.run(end + " WHERE " + of_holder);
    else if (GetParam() == terminated::waiter)
        administrator.run(end + " WHERE NOT " + of_holder);
    else
        administrator.run(end);
    EXPECT_FALSE(alice.release(held)) << alice.locks->explain();
    EXPECT_TRUE(bob.run_until([&] { return code.has_value(); }));
    EXPECT_EQ(code, error_code());
    EXPECT_GT(next.token().value, held.token().value);
    EXPECT_FALSE(bob.release(next));
    EXPECT_FALSE(alice.stop());
    EXPECT_FALSE(bob.stop());
    EXPECT_EQ(administrator.run("SELECT count(*) FROM mortise.session"), "0");
}

INSTANTIATE_TEST_SUITE_P(
    Of,
    PostgresTermination,
    testing::Values(terminated::holder, terminated::waiter, terminated::both),
    [](const auto& of) { return std::string(to_string(of.param)); }
);

// The version is what this database says; the server is a newer one.
TEST(PostgresVersion, ThatIsTooOldIsNamed) {
    const std::string url = shared_postgres().url(shared_postgres().create_database("old"));
    postgres_administrator(url).run(R"(
SET allow_system_table_mods = on;
ALTER FUNCTION pg_catalog.current_setting(text) RENAME TO setting_really;
CREATE FUNCTION pg_catalog.current_setting(text) RETURNS text LANGUAGE sql AS
  $$ SELECT CASE $1 WHEN 'server_version_num' THEN '130014' ELSE setting_really($1) END $$)");
    store_user user(open_store(url));
    lease none;
    EXPECT_EQ(user.acquire("door", none, {.wait_max = 0ms}), errc::wrong_server);
    EXPECT_NE(user.locks->explain().find("older than PostgreSQL 14"), std::string::npos)
        << user.locks->explain();
}

// Each has a session before.
TEST(PostgresStoreRace, FiftyClientsMakeTheSameNewName) {
    const std::string url = shared_postgres().url(shared_postgres().create_database("race"));
    constexpr unsigned clients = 50;
    asio::io_context context(1);
    std::deque<lock_client> all;
    std::vector<lease> held(clients);
    std::vector<std::uint64_t> tokens;
    bool taken = false;
    const auto run_until = [&](const std::function<bool()>& done) {
        const auto end = clock::now() + 60s;
        while (!done() && clock::now() < end)
            context.run_one_for(20ms);
        EXPECT_TRUE(done());
    };
    for (unsigned i = 0; i < clients; ++i) {
        client_config settings;
        settings.ttl = 30s;
        all.emplace_back(context.get_executor(), open_store(url), std::move(settings));
        bool open = false;
        all[i].async_acquire("own", {}, [&](error_code failed, const lease&) {
            EXPECT_FALSE(failed) << failed.message() << "; " << all[i].explain();
            open = true;
        });
        run_until([&] { return open; });
    }
    for (unsigned i = 0; i < clients; ++i) {
        all[i].async_acquire("door", {}, [&, i](error_code failed, lease got) {
            ASSERT_FALSE(failed) << failed.message() << "; " << all[i].explain();
            EXPECT_FALSE(std::exchange(taken, true)) << "two hold it";
            tokens.push_back(got.token().value);
            held[i] = std::move(got);
            asio::post(context, [&, i] {
                taken = false;
                held[i] = lease();
            });
        });
    }
    run_until([&] { return tokens.size() == clients; });
    EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end());
}

}  // namespace
}  // namespace mortise::test::postgres_server_fault_test
