// SPDX-License-Identifier: BSL-1.0
// The simulated world itself: clocks, stops, deaths, messages, and that all of it repeats itself.
#include "mortise/coro/sleep.hpp"
#include "mortise/sim/rpc.hpp"
#include "mortise/sim/world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mortise::sim::world_test {
namespace {

using namespace std::chrono_literals;

asio::awaitable<void> idle(process&) {
    co_return;
}

/// Wakes up again and again.
process::main_function ticking(std::vector<std::string>& log, clock::duration every) {
    return [&log, every](process& self) -> asio::awaitable<void> {
        for (;;) {
            co_await coro::sleep_for(*self.time(), every);
            log.push_back(self.name());
        }
    };
}

std::pair<std::vector<std::string>, std::uint64_t> order_of(std::uint64_t seed) {
    world all(seed);
    std::vector<std::string> log;
    for (const char* const name : {"a", "b", "c"})
        all.add_process(name).run(ticking(log, 10ms));
    all.run_for(200ms);
    all.end();
    return {log, all.event_hash()};
}

TEST(SimWorld, RepeatsItselfWithItsSeed) {
    EXPECT_EQ(order_of(7), order_of(7));
    EXPECT_NE(order_of(7).first, order_of(8).first) << "who is ready at the same time is drawn";
    EXPECT_NE(order_of(7).second, order_of(8).second);
}

TEST(SimWorld, TakesNoTimeForTimeThatPasses) {
    world all(1);
    bool woke = false;
    process& one = all.add_process("one");
    one.run([&](process& self) -> asio::awaitable<void> {
        co_await coro::sleep_for(*self.time(), std::chrono::hours(24 * 365));
        woke = true;
    });
    EXPECT_FALSE(all.run_until([&] { return woke; }, std::chrono::hours(24 * 364)));
    EXPECT_TRUE(all.run_until([&] { return woke; }, std::chrono::hours(48)));
    EXPECT_EQ(all.now(), clock::time_point(std::chrono::hours(24 * 365)));
    all.end();
}

TEST(SimProcess, HasAClockOfItsOwn) {
    world all(1);
    process& fast = all.add_process("fast");
    const auto begin = fast.local_now();
    clock::time_point woke;
    fast.set_clock_rate(500'000);
    fast.run([&](process& self) -> asio::awaitable<void> {
        co_await coro::sleep_for(*self.time(), 3s);
        woke = all.now();
    });
    all.run_for(4s);
    EXPECT_EQ(woke, clock::time_point(2s)) << "three of its seconds";
    EXPECT_EQ(fast.local_now(), begin + 6s);
    fast.set_clock_rate(-500'000);
    all.run_for(2s);
    EXPECT_EQ(fast.local_now(), begin + 7s) << "nothing jumps when the rate changes";
    EXPECT_EQ(fast.time()->now(), fast.local_now());
    all.end();
}

TEST(SimProcess, RunsWhatWasReadyBeforeWhatCameDueWhileItWasStopped) {
    world all(1);
    process& one = all.add_process("one");
    std::vector<std::string> log;
    one.run([&](process& self) -> asio::awaitable<void> {
        co_await coro::sleep_for(*self.time(), 1s);
        log.push_back(
            "due, late by " + std::to_string((self.local_now() - self.time()->now()) / 1s)
        );
    });
    all.run_for(500ms);
    one.pause();
    one.post([&] {
        log.push_back("ready at " + std::to_string(one.local_now().time_since_epoch() / 1s));
    });
    all.run_for(5s);
    EXPECT_TRUE(log.empty());
    const auto first = std::to_string(one.local_now().time_since_epoch() / 1s);
    one.resume();
    all.run_for(0s);
    EXPECT_EQ(log, (std::vector<std::string>{"ready at " + first, "due, late by 0"}));
    all.end();
}

TEST(SimProcess, IsGoneWithAllThatItDidWhenItDies) {
    world all(1);
    std::vector<std::string> log;
    const auto alive = std::make_shared<int>(0);
    process& one = all.add_process("one");
    one.run([&log, alive](process& self) -> asio::awaitable<void> {
        const auto kept = alive;
        log.push_back("life " + std::to_string(self.lives()));
        co_await coro::sleep_for(*self.time(), 1h);
    });
    all.run_for(1s);
    EXPECT_GT(alive.use_count(), 2);
    one.crash();
    EXPECT_FALSE(one.alive());
    EXPECT_EQ(alive.use_count(), 2) << "but for its program, nothing of it is left";
    one.post([&] { log.push_back("posted to the dead"); });
    all.run_for(1s);
    const auto before = one.local_now();
    one.restart();
    all.run_for(1s);
    EXPECT_EQ(log, (std::vector<std::string>{"life 1", "life 2"}));
    EXPECT_GT(one.time()->now(), before) << "its clock has gone on";
    all.end();
}

TEST(SimWorld, ThrowsWhatEscapesFromAProcess) {
    world all(1);
    all.add_process("one").run([](process&) -> asio::awaitable<void> {
        throw std::runtime_error("escaped");
        co_return;
    });
    EXPECT_THROW(all.run_for(1s), std::runtime_error);
    all.run_for(1s);  // it has been told
    all.end();
}

TEST(SimNetwork, KeepsTheOrderOfEachWay) {
    world all(3);
    process& one = all.add_process("one");
    process& other = all.add_process("other");
    one.run(&idle);
    other.run(&idle);
    all.net().usual().delay_mean = 50ms;
    std::vector<int> arrived;
    for (int i = 0; i < 100; ++i)
        all.net().send(one, other, [&, i] { arrived.push_back(i); });
    all.run_for(1min);
    ASSERT_EQ(arrived.size(), 100u);
    EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
    all.end();
}

TEST(SimNetwork, LosesAndRepeatsAsOftenAsItIsTold) {
    world all(3);
    process& one = all.add_process("one");
    process& other = all.add_process("other");
    one.run(&idle);
    other.run(&idle);
    int arrived = 0;
    const auto send = [&](link how) {
        arrived = 0;
        all.net().between(one, other) = how;
        for (int i = 0; i < 1'000; ++i)
            all.net().send(one, other, [&] { ++arrived; });
        all.run_for(1min);
        return arrived;
    };
    link how;
    how.loss = 0.25;
    EXPECT_NEAR(send(how), 750, 60);
    EXPECT_NEAR(static_cast<double>(all.net().lost()), 250, 60);
    how.loss = 0;
    how.repetition = 0.5;
    EXPECT_NEAR(send(how), 1'500, 70);
    all.end();
}

TEST(SimNetwork, IsCutOneWayAndHealed) {
    world all(3);
    process& one = all.add_process("one");
    process& other = all.add_process("other");
    one.run(&idle);
    other.run(&idle);
    std::string log;
    const auto both = [&] {
        log.clear();
        all.net().send(one, other, [&] { log += '>'; });
        all.net().send(other, one, [&] { log += '<'; });
        all.run_for(1s);
        return log;
    };
    all.net().cut(one, other);
    EXPECT_EQ(both(), "<");
    all.net().part(one, other);
    EXPECT_EQ(both(), "");
    all.net().heal();
    EXPECT_EQ(both().size(), 2u);
    all.end();
}

TEST(SimNetwork, NothingArrivesInAnotherLife) {
    world all(3);
    process& one = all.add_process("one");
    process& other = all.add_process("other");
    one.run(&idle);
    other.run(&idle);
    bool arrived = false;
    all.net().send(one, other, [&] { arrived = true; });
    other.crash();
    other.restart();
    all.run_for(1s);
    EXPECT_FALSE(arrived);
    all.end();
}

TEST(SimRpc, ComesBackWithTheAnswerOrSaysThatNothingIsKnown) {
    world all(3);
    process& client = all.add_process("client");
    process& server = all.add_process("server");
    server.run(&idle);
    std::vector<std::string> log;
    int done = 0;
    client.run([&](process& self) -> asio::awaitable<void> {
        const std::function<result<int>()> work = [&] { return result<int>(++done); };
        for (int i = 0; i < 3; ++i) {
            auto asking = rpc<int>(self, server, work, 100ms);
            const auto reply = co_await std::move(asking);
            log.push_back(reply ? std::to_string(*reply) : reply.error().message());
            if (i == 0)
                all.net().cut(server, self);
            else
                all.net().between(server, self).cut = false;
        }
    });
    all.run_for(1s);
    ASSERT_EQ(log.size(), 3u);
    EXPECT_EQ(log[0], "1");
    EXPECT_EQ(log[1], error_code(errc::outcome_unknown).message());
    EXPECT_EQ(log[2], "3") << "the second one was done, too";
    all.end();
}

}  // namespace
}  // namespace mortise::sim::world_test
