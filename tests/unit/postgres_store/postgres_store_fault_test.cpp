// SPDX-License-Identifier: BSL-1.0
// What goes wrong between the store and its PostgreSQL server, and clients that stop in the middle.
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store/postgres.hpp"
#include "store/postgres/postgres_server.hpp"
#include "store/postgres/postgres_wire.hpp"
#include "support/message_proxy.hpp"
#include "support/postgres_server.hpp"
#include "unit/sql_store/store_user.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::test::postgres_store_fault_test {
namespace {

using namespace std::chrono_literals;
using store_detail::row_lock;

class lone_client : public store_user {
public:
    explicit lone_client(postgres_store_config config, std::chrono::milliseconds ttl = 5s)
        : store_user(make_postgres_store(std::move(config)), ttl) {}
};

/// The calls to the server by themselves, without a client.
class lone_gateway {
public:
    explicit lone_gateway(const postgres_store_config& config)
        : gateway_(store_detail::make_statement_gateway(
              std::make_unique<store_detail::postgres_server>(config)
          )) {
        gateway_->start(
            context.get_executor(),
            coro::make_boot_time_source(context.get_executor()),
            [](const auto&) {},
            [] {}
        );
    }
    ~lone_gateway() { gateway_->close(); }
    lone_gateway(const lone_gateway&) = delete;
    lone_gateway& operator=(const lone_gateway&) = delete;

    store_detail::sql_gateway* operator->() const noexcept { return gateway_.get(); }

    template <class R>
    void begin(asio::awaitable<R> call, std::optional<R>& reply) {
        asio::co_spawn(context, std::move(call), [&reply](const std::exception_ptr&, R given) {
            reply = std::move(given);
        });
    }
    template <class R>
    R end(std::optional<R>& reply) {
        context.restart();
        while (!reply)
            context.run_one();
        return std::move(*reply);
    }
    template <class R>
    R await(asio::awaitable<R> call) {
        std::optional<R> reply;
        begin(std::move(call), reply);
        return end(reply);
    }

    asio::io_context context{1};

private:
    std::shared_ptr<store_detail::sql_gateway> gateway_;
};

class PostgresStoreFault : public testing::Test {
protected:
    PostgresStoreFault() {
        static int count = 0;
        config.schema = "fault" + std::to_string(++count);
    }
    ~PostgresStoreFault() override {
        administrator.run(
            "SET client_min_messages = warning; DROP SCHEMA IF EXISTS " + config.schema + " CASCADE"
        );
    }

    /// What a client says that cannot be served.
    std::pair<error_code, std::string> refusal(postgres_store_config of) {
        lone_client client(std::move(of));
        lease none;
        const error_code code = client.acquire("door", none, {.wait_max = 0ms});
        return {code, client.locks->explain()};
    }

    void expect_refused(errc why, const std::string& words) {
        const auto [code, text] = refusal(config);
        EXPECT_EQ(code, why) << code.message();
        EXPECT_NE(text.find(words), std::string::npos) << text;
    }

    postgres_administrator administrator{shared_postgres().url()};
    postgres_store_config config = parse_postgres_store_url(shared_postgres().url());
};

TEST_F(PostgresStoreFault, AWrongPasswordIsNamed) {
    config.server.password = "wrong";
    expect_refused(errc::access_denied, "password authentication failed");
}

TEST_F(PostgresStoreFault, AMissingDatabaseIsNamed) {
    config.server.database = "nowhere";
    expect_refused(errc::bad_config, "database \"nowhere\" does not exist");
}

TEST_F(PostgresStoreFault, MissingTablesAreNotMadeIfThatIsNotAllowed) {
    config.create = false;
    expect_refused(errc::not_a_store, "mortise init --print");
    EXPECT_EQ(
        administrator.run(
            "SELECT count(*) FROM pg_namespace WHERE nspname = '" + config.schema + "'"
        ),
        "0"
    );
}

TEST_F(PostgresStoreFault, AUserWithoutRightsIsToldWhatToDoAndNeedsFewOfThem) {
    const std::string user = config.schema + "_user";
    administrator.run("CREATE ROLE " + user + " LOGIN PASSWORD 'u'");
    const auto mighty = config;
    config.server.user = user;
    config.server.password = "u";
    expect_refused(errc::access_denied, "mortise init --print");
    administrator.run(
        "SET client_min_messages = warning; " +
        tables_of_store(shared_postgres().url() + "?schema=" + config.schema)
    );
    expect_refused(errc::access_denied, "permission denied for schema");
    administrator.run(
        "GRANT USAGE ON SCHEMA " + config.schema + " TO " + user +
        "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + config.schema + " TO " +
        user + "; GRANT USAGE ON ALL SEQUENCES IN SCHEMA " + config.schema + " TO " + user
    );
    {
        lone_client client(config);
        lease held;
        EXPECT_FALSE(client.acquire("door", held)) << client.locks->explain();
        EXPECT_FALSE(client.release(held));
    }
    administrator.run("DROP OWNED BY " + user + "; DROP ROLE " + user);
}

TEST_F(PostgresStoreFault, ANewerFormatIsLeftAlone) {
    lease none;
    {
        lone_client client(config);
        EXPECT_FALSE(client.acquire("door", none));
        EXPECT_FALSE(client.release(none));
    }
    administrator.run("UPDATE " + config.schema + ".store SET format = 2");
    expect_refused(errc::newer_format, "newer mortise");
}

TEST_F(PostgresStoreFault, AnotherDomainIsRefused) {
    config.domain = "first";
    {
        lone_client client(config);
        lease held;
        EXPECT_FALSE(client.acquire("door", held));
        EXPECT_EQ(held.token().domain.name(), "first");
    }
    config.domain = "second";
    expect_refused(errc::bad_config, "the domain first");
}

TEST_F(PostgresStoreFault, APoolerIsNoticed) {
    asio::io_context context(1);
    message_proxy proxy(context.get_executor(), shared_postgres().port(), &make_postgres_reader);
    proxy.pose_as_pooler();
    config.server.servers.front().port = proxy.port();
    lone_client client(config);
    std::optional<error_code> code;
    client.locks->async_acquire("door", {.wait_max = 0ms}, [&](error_code failed, const lease&) {
        code = failed;
    });
    EXPECT_TRUE(client.run_until([&] {
        context.poll();
        return code.has_value();
    }));
    EXPECT_EQ(code, errc::wrong_server);
    EXPECT_NE(client.locks->explain().find("pooler"), std::string::npos);
}

// The end may be noticed before the coroutine goes on that has asked who answers.
TEST_F(PostgresStoreFault, AConnectionThatEndsWhileItIsLookedAtIsNoPooler) {
    int step = 0;
    for (bool opened = false; !opened && !HasFailure(); ++step) {
        asio::io_context context(1);
        const auto wire = std::make_shared<store_detail::postgres_wire>(
            std::make_shared<const postgres_store_config>(config),
            context.get_executor(),
            coro::make_boot_time_source(context.get_executor()),
            store_detail::sql_wire_events()
        );
        std::optional<error_code> code;
        asio::co_spawn(context, wire->open(), [&](const std::exception_ptr&, error_code failed) {
            code = failed;
        });
        for (int i = 0; i < step && !code; ++i)
            context.run_one();
        opened = code.has_value();
        wire->close();
        while (!code && context.run_one() > 0)
            continue;
        EXPECT_EQ(code, opened ? error_code() : error_code(errc::store_unavailable))
            << "ended before handler " << step;
    }
    EXPECT_GE(step, 8);
}

// An administrator's statement keeps a table for longer than an opening may wait for it.
TEST_F(PostgresStoreFault, ATableThatOthersHaveLockedIsWaitedFor) {
    lease held;
    {
        lone_client first(config);
        ASSERT_FALSE(first.acquire("door", held));
        ASSERT_FALSE(first.release(held));
    }
    lone_client client(config);
    administrator.run("BEGIN");
    administrator.run("LOCK TABLE " + config.schema + ".store");
    std::optional<error_code> code;
    client.locks->async_acquire("door", {}, [&](error_code failed, lease got) {
        code = failed;
        held = std::move(got);
    });
    EXPECT_TRUE(client.run_until([&] {
        return code || client.locks->explain().find("55P03") != std::string::npos;
    }));
    client.run_until([] { return false; }, 50ms);
    EXPECT_FALSE(code) << "it did not wait: " << code->message();
    administrator.run("COMMIT");
    EXPECT_TRUE(client.run_until([&] { return code.has_value(); }));
    EXPECT_EQ(code, error_code());
    EXPECT_FALSE(client.release(held));
}

// The server ends all of its processes, and what is not logged is empty afterwards.
TEST_F(PostgresStoreFault, ACrashIsANewIncarnationThatGrantsNothingTooSoon) {
    constexpr auto ttl = 2s;
    postgres_server server;
    config = parse_postgres_store_url(server.url());
    lone_client alice(config, ttl);
    lone_client bob(config, ttl);
    lease held;
    ASSERT_FALSE(alice.acquire("door", held));
    const auto token = held.token().value;
    server.stop_immediately();
    server.start();
    const auto believed = held.valid_until();
    lease next;
    EXPECT_FALSE(bob.acquire("door", next));
    EXPECT_GE(clock::now(), believed) << "two held it";
    EXPECT_GT(next.token().value, token);
    EXPECT_TRUE(alice.run_until([&] { return held.state() == lease_state::lost; }));
    EXPECT_FALSE(bob.release(next));
}

// After a crash bases begin ahead of the clock, and a second crash must know how far they came.
TEST_F(PostgresStoreFault, TokensGrowOverSeveralCrashes) {
    constexpr auto ttl = 1s;
    postgres_server server;
    config = parse_postgres_store_url(server.url());
    lone_client client(config, ttl);
    std::uint64_t highest = 0;
    for (int run = 0; run < 3; ++run) {
        for (int grant = 0; grant < 3; ++grant) {
            lease held;
            ASSERT_FALSE(client.acquire("door", held));
            EXPECT_GT(held.token().value, highest) << "in run " << run;
            highest = std::max(highest, held.token().value);
            EXPECT_FALSE(client.release(held));
        }
        server.kill();
        server.start();
    }
}

// In a quarantine a waiter makes the row of a lock, which gets no grant. The short ways, which read
// no floor, use that row later, when another lock has raised the ceiling above the floor.
TEST_F(PostgresStoreFault, ARowThatWasMadeInAQuarantineGrowsFromTheFloor) {
    constexpr auto ttl = 60s;  // no heartbeat comes and deletes the row
    const auto set = [&](const std::string& table, const std::string& values) {
        return administrator.run("UPDATE " + config.schema + "." + table + " SET " + values);
    };
    lone_client user(config, ttl);
    const auto use = [&](const std::string& name) {
        lease held;
        EXPECT_FALSE(user.acquire(name, held)) << user.locks->explain();
        const auto base = held.token().base();
        EXPECT_FALSE(user.release(held));
        return base;
    };
    const auto floor = use("bell") + 3'600'000'000;
    const auto raised = std::to_string(floor);
    set("store", "floor = " + raised + ", ceiling = " + raised);
    set("run", "quarantine = " + raised);
    lone_client waiter(config, ttl);
    const auto rows = "SELECT count(*) FROM " + config.schema + ".lock WHERE name = 'door'";
    while (administrator.run(rows) == "0") {
        lease none;
        // A busy machine may not answer in that time.
        const error_code refused = waiter.acquire("door", none, {.wait_max = 50ms});
        ASSERT_TRUE(refused == errc::quarantined || refused == errc::busy) << refused.message();
    }
    set("run", "quarantine = 0");
    EXPECT_GE(use("window"), floor);
    EXPECT_GE(use("door"), floor);
}

TEST_F(PostgresStoreFault, APromotionIsANewIncarnationThatGrantsNothingTooSoon) {
    constexpr auto ttl = 3s;
    postgres_server primary;
    const auto standby = primary.make_standby();
    config = parse_postgres_store_url(primary.url());
    config.server.servers.emplace_back("127.0.0.1", standby->port());
    lone_client alice(config, ttl);
    lone_client bob(config, ttl);
    lease held;
    ASSERT_FALSE(alice.acquire("door", held));
    const auto token = held.token().value;
    const auto followed = [&] {  // as far as the ledger of TTLs
        try {
            return standby->run("SELECT count(*) FROM mortise.lease_time") == "1";
        } catch (const std::runtime_error&) {
            return false;  // there is no such table yet
        }
    };
    EXPECT_TRUE(alice.run_until(followed));
    primary.kill();
    const auto believed = held.valid_until();
    EXPECT_EQ(standby->run("SELECT pg_promote()"), "t");
    lease next;
    EXPECT_FALSE(bob.acquire("door", next)) << bob.locks->explain();
    EXPECT_GE(clock::now(), believed) << "two held it";
    EXPECT_GT(next.token().value, token);
    EXPECT_FALSE(bob.release(next));
}

TEST_F(PostgresStoreFault, TheFirstIncarnationOfAllGrantsAtOnce) {
    lone_client client(config, 1h);
    lease held;
    EXPECT_FALSE(client.acquire("door", held, {.wait_max = 10s}));
    EXPECT_FALSE(client.release(held));
}

TEST_F(PostgresStoreFault, ABackendThatIsTerminatedLosesNothing) {
    lone_client alice(config, 30s);
    lone_client bob(config, 30s);
    lease held;
    ASSERT_FALSE(alice.acquire("door", held));
    std::optional<error_code> code;
    lease next;
    bob.locks->async_acquire("door", {}, [&](error_code failed, lease got) {
        code = failed;
        next = std::move(got);
    });
    const std::string waiting =
        "SELECT count(*) FROM " + config.schema + ".waiter WHERE NOT granted";
    EXPECT_TRUE(bob.run_until([&] { return administrator.run(waiting) == "1"; }));
    administrator.run(
        "SELECT pg_terminate_backend(process::int, 10000) FROM " + config.schema + ".session"
    );
    EXPECT_FALSE(alice.release(held));
    EXPECT_TRUE(bob.run_until([&] { return code.has_value(); }));
    EXPECT_EQ(code, error_code());
    EXPECT_FALSE(bob.release(next));
}

/// A session whose row an administrator has locked, and which is proved again meanwhile.
class proof_that_waits {
public:
    proof_that_waits(
        const postgres_store_config& config, postgres_administrator& by, const std::string& change
    )
        : gateway_(config) {
        start_.id = random_id::draw();
        start_.generation = 1;
        start_.ttl = 60s;
        EXPECT_FALSE(gateway_.await(gateway_->connect()));
        EXPECT_TRUE(gateway_.await(gateway_->prove(start_)));
        by.run("BEGIN");
        by.run(change);
        EXPECT_FALSE(gateway_.await(gateway_->connect()));
        ++start_.generation;
        gateway_.begin(gateway_->prove(start_), proof_);
        const auto waits = [&] {
            return by.run("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0";
        };
        while (!proof_ && !waits())
            gateway_.context.run_one_for(1ms);
        EXPECT_FALSE(proof_) << "it did not wait for the row";
    }

    error_code end() { return gateway_.end(proof_).error(); }

private:
    lone_gateway gateway_;
    session_start start_;
    std::optional<result<store_detail::sql_proof>> proof_;
};

// Whoever proves a session while its row is being deleted finds that it is over.
TEST_F(PostgresStoreFault, ASessionThatIsBeingForgottenIsNotRevived) {
    proof_that_waits proof(config, administrator, "DELETE FROM " + config.schema + ".session");
    administrator.run("COMMIT");
    EXPECT_EQ(proof.end(), errc::session_lost);
    EXPECT_EQ(administrator.run("SELECT count(*) FROM " + config.schema + ".session"), "0");
}

// Whoever opens a connection waits for others as for a server that is away.
TEST_F(PostgresStoreFault, AProofThatWaitsForOthersTooLongIsTriedAgain) {
    proof_that_waits proof(
        config, administrator, "SELECT FROM " + config.schema + ".session FOR UPDATE"
    );
    // The server's limit ends the wait, or that of the client if the server is late.
    const auto code = proof.end();
    EXPECT_TRUE(code == errc::store_unavailable || code == errc::outcome_unknown) << code;
    administrator.run("COMMIT");
}

// The row lock of the general way is a transaction over a round trip, and therefore limited.
TEST_F(PostgresStoreFault, ARowLockOfAClientThatStopsIsTakenFromIt) {
    lone_gateway gateway(config);
    const auto loaded = gateway.await(gateway->load({}, "door", row_lock::taken));
    ASSERT_TRUE(loaded);
    EXPECT_NE(loaded->row.stamp, 0u) << "the row is there now";
    // From here on the first client stands still.
    lone_client other(config);
    lease held;
    EXPECT_FALSE(other.acquire("window", held));
    EXPECT_FALSE(other.release(held));
    EXPECT_FALSE(other.acquire("door", held));
    EXPECT_FALSE(other.release(held));
    // It goes on, and its write does nothing.
    store_detail::sql_lock_change change;
    change.name = "door";
    change.expected = loaded->row.stamp;
    change.row = loaded->row;
    change.row.stamp = 77;
    const auto stored = gateway.await(gateway->store(change));
    EXPECT_FALSE(stored && *stored);
}

}  // namespace
}  // namespace mortise::test::postgres_store_fault_test
