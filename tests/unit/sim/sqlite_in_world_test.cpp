// SPDX-License-Identifier: BSL-1.0
// The SQLite store in a simulated world: the processes of one machine.
#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/store/sqlite.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::test::sqlite_in_world_test {
namespace {

using namespace std::chrono_literals;

/// Holds the door for a second, again and again, and writes down when it got it.
class holder {
public:
    holder(sim::world& in, const store_folder& folder, std::string& log)
        : world_(in), folder_(folder), log_(log) {}

    asio::awaitable<void> operator()(sim::process& self) const {
        client_config config;
        config.ttl = 2s;
        config.time = self.time();
        lock_client locks(self.get_executor(), make_sqlite_store(folder_.config()), config);
        for (;;) {
            const lease held = co_await locks.async_acquire("door");
            const auto at = std::chrono::floor<std::chrono::seconds>(world_.now());
            log_ += self.name() + std::to_string(at.time_since_epoch().count()) + ' ';
            co_await coro::sleep_for(*self.time(), 1s);
        }
    }

private:
    sim::world& world_;
    const store_folder& folder_;
    std::string& log_;
};

TEST(SqliteInWorld, ProcessesOfOneMachineTakeTurnsInNoTime) {
    const store_folder folder;
    std::string log;
    sim::world world(1);
    sim::process& a = world.add_process("a");
    sim::process& b = world.add_process("b", a);
    a.run(holder(world, folder, log));
    world.run_for(100ms);
    b.run(holder(world, folder, log));
    world.run_for(3s + 500ms);
    EXPECT_EQ(log, "a0 b1 a2 b3 ");
    EXPECT_EQ(folder.sockets(), 4u);
    world.end();
}

TEST(SqliteInWorld, AProcessThatDiesIsMissedAtOnceAndOneThatIsStoppedAfterItsTtl) {
    const store_folder folder;
    std::string log;
    sim::world world(2);
    sim::process& a = world.add_process("a");
    sim::process& b = world.add_process("b", a);
    a.run(holder(world, folder, log));
    world.run_for(100ms);
    b.run(holder(world, folder, log));
    world.run_for(100ms);
    a.crash();
    EXPECT_EQ(folder.sockets(), 4u) << "nobody has tidied up";
    world.run_for(100ms);
    EXPECT_EQ(log, "a0 b0 ");
    a.restart();
    world.run_for(200ms);
    b.pause();
    world.run_for(5s);
    EXPECT_TRUE(log.starts_with("a0 b0 a2 ")) << log;
    world.end();
}

TEST(SqliteInWorld, ADiskThatHangsIsWaitedFor) {
    const store_folder folder;
    std::string log;
    sim::world world(3);
    sim::process& a = world.add_process("a");
    a.set_work_time(2s);
    a.run(holder(world, folder, log));
    world.run_for(50ms);
    EXPECT_EQ(log, "");
    world.run_for(60s);
    EXPECT_NE(log, "");
    world.end();
}

TEST(SqliteInWorld, AMachineHasOneClock) {
    sim::world world(4);
    sim::process& a = world.add_process("a");
    sim::process& b = world.add_process("b", a);
    const sim::process& other = world.add_process("other");
    a.set_clock_rate(10'000);
    world.run_for(100s);
    EXPECT_EQ(a.local_now(), b.local_now());
    EXPECT_EQ(b.clock_rate(), 10'000);
    EXPECT_NE(a.local_now(), other.local_now());
    EXPECT_EQ(other.clock_rate(), 0);
}

}  // namespace
}  // namespace mortise::test::sqlite_in_world_test
