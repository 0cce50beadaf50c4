// SPDX-License-Identifier: BSL-1.0
// A database server whose disk is full, or whose clock is set, while locks are held and waited for.
// Part of the tests of each kind of store. The server is a real one; its disk and its clock are
// what a library in it says, so that the tests need no privileges.
#include "mortise/open_store.hpp"
#include "support/machine_delay.hpp"
#include "support/server_faults.hpp"
#include "support/sql_store_server.hpp"
#include "unit/sql_store/store_user.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test::server_fault_test {
namespace {

using namespace std::chrono_literals;

#ifdef MORTISE_TESTS_OF_MYSQL
constexpr auto make_server = &make_mariadb_store_server;
#else
constexpr auto make_server = &make_postgres_store_server;
#endif

class SqlServerFault : public testing::Test {
protected:
    store_user user(std::chrono::milliseconds ttl) {
        return store_user(open_store(server->url()), ttl);
    }

    const std::unique_ptr<sql_store_server> server = make_server(preloads::faults);
};

TEST_F(SqlServerFault, AFullDiskRefusesNewLocksAndLosesNone) {
    store_user alice = user(5s);
    store_user bob = user(5s);
    lease door;
    ASSERT_FALSE(alice.acquire("door", door));
    server->faults().fill_disk();
    // Each name needs room of its own.
    constexpr int names_max = 2'000;
    std::vector<lease> held;
    error_code full;
    std::string name;
    while (!full && held.size() < names_max) {
        name = std::to_string(held.size()) + std::string(900, 'x');
        full = alice.acquire(name, held.emplace_back());
    }
    held.pop_back();
    EXPECT_EQ(full, errc::store_full) << full.message() << "; " << alice.locks->explain();
    EXPECT_TRUE(door.held());
    lease next;
    EXPECT_EQ(bob.acquire("door", next, {.wait_max = 0ms}), errc::busy);
    server->faults().fill_disk(false);
    EXPECT_FALSE(alice.acquire(name, held.emplace_back())) << alice.locks->explain();
    for (auto& each : held) {
        EXPECT_TRUE(each.held());
        EXPECT_FALSE(alice.release(each));
    }
    EXPECT_FALSE(alice.release(door));
    EXPECT_FALSE(bob.acquire("door", next));
    EXPECT_GT(next.token().value, door.token().value);
    EXPECT_FALSE(bob.release(next));
    EXPECT_FALSE(alice.stop());
    EXPECT_FALSE(bob.stop());
    EXPECT_EQ(server->residue(), "");
}

TEST_F(SqlServerFault, AClockThatIsSetForwardByLessThanATtlEndsNoLease) {
    store_user alice = user(6s);
    store_user bob = user(6s);
    lease held;
    ASSERT_FALSE(alice.acquire("door", held));
    const auto token = held.token().value;
    std::optional<error_code> code;
    lease next;
    bob.begin("door", next, code);
    const auto both_until = [&](const std::function<bool()>& done) {
        return bob.run_until([&] {
            alice.poll();
            return done();
        });
    };
    EXPECT_TRUE(both_until([&] { return held.contended(); }));
    server->faults().step_clock(2s);
    const auto waited = bob.locks->stats().heartbeats;
    EXPECT_TRUE(both_until([&] { return code || bob.locks->stats().heartbeats > waited; }));
    EXPECT_FALSE(code) << "two hold it";
    EXPECT_TRUE(both_until([&] { return held.held(); }));
    EXPECT_FALSE(alice.release(held));
    EXPECT_TRUE(bob.run_until([&] { return code.has_value(); }));
    EXPECT_EQ(code, error_code());
    EXPECT_GT(next.token().value, token);
}

TEST_F(SqlServerFault, AClockThatIsSetForwardByMuchEndsLeasesAndTheirHoldersHearOfIt) {
    constexpr auto ttl = 3s;
    store_user alice = user(ttl);
    store_user bob = user(ttl);
    lease held;
    ASSERT_FALSE(alice.acquire("door", held));
    // The first heartbeat follows at once. If the clock were set while the server handles it, it
    // could find the session alive by the old time and give it a TTL of the new: no loss.
    ASSERT_TRUE(alice.run_until([&] { return alice.locks->stats().heartbeats > 0; }));
    server->faults().step_clock(1h);
    const machine_delay delay;
    const auto begun = clock::now();
    EXPECT_TRUE(alice.run_until([&] { return !held.held(); })) << alice.locks->explain();
    EXPECT_LT(clock::now() - begun, ttl / 2 + delay.so_far()) << "a heartbeat tells it";
    lease next;
    EXPECT_FALSE(bob.acquire("door", next)) << bob.locks->explain();
    EXPECT_GT(next.token().value, held.token().value);
    EXPECT_FALSE(bob.release(next));
}

TEST_F(SqlServerFault, AClockThatIsSetBackKeepsNoDeadHolderAliveAndLowersNoToken) {
    constexpr auto ttl = 1s;
    store_user dead = user(ttl);
    store_user alice = user(ttl);
    lease window;
    ASSERT_FALSE(alice.acquire("window", window));
    auto highest = window.token().value;
    EXPECT_FALSE(alice.release(window));
    lease held;
    ASSERT_FALSE(dead.acquire("door", held));
    const auto token = held.token().value;
    // From here on it does not run, as if its process were stopped.
    server->faults().step_clock(-1h);
    const machine_delay delay;
    const auto begun = clock::now();
    lease next;
    EXPECT_FALSE(alice.acquire("door", next)) << alice.locks->explain();
    EXPECT_LT(clock::now() - begun, 3 * ttl + delay.so_far());
    EXPECT_GE(clock::now(), held.valid_until()) << "two held it";
    EXPECT_GT(next.token().value, token);
    EXPECT_FALSE(alice.release(next));
    ASSERT_FALSE(alice.acquire("window", window));
    EXPECT_GT(window.token().value, highest);
    highest = window.token().value;
    EXPECT_FALSE(alice.release(window));
    server->crash();
    store_user bob = user(ttl);
    ASSERT_FALSE(bob.acquire("window", window)) << bob.locks->explain();
    EXPECT_GT(window.token().value, highest) << "after a crash, too";
    EXPECT_FALSE(bob.release(window));
}

}  // namespace
}  // namespace mortise::test::server_fault_test
