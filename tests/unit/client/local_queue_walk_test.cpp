// SPDX-License-Identifier: BSL-1.0
// Random wishes of many coroutines of three clients, judged where the locks are used.
#include "client_world.hpp"
#include "mortise/coro/sleep.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// A resource behind one lock: knows who is there, and the highest token of each domain.
class judged_resource {
public:
    void enter(const lease& held, const lock_mode& mode) {
        EXPECT_TRUE(held.held());
        const std::string domain(held.token().domain.name());
        auto& highest = highest_[domain];
        switch (mode.type()) {
        case lock_mode::kind::exclusive:
            EXPECT_EQ(writers_ + readers_ + slots_.size(), 0u);
            EXPECT_GT(held.token().value, highest);
            ++writers_;
            break;
        case lock_mode::kind::shared:
            EXPECT_EQ(writers_ + slots_.size(), 0u);
            if (readers_ == 0)
                EXPECT_GE(held.token().value, highest);
            else
                EXPECT_EQ(held.token().value, highest) << "one phase, one token";
            ++readers_;
            break;
        case lock_mode::kind::permits:
            EXPECT_EQ(writers_ + readers_, 0u);
            EXPECT_TRUE(slots_.insert(held.slot()).second) << "slot " << held.slot();
            EXPECT_LE(held.slot(), mode.capacity());
            EXPECT_GT(held.token().value, highest);
            break;
        }
        highest = std::max(highest, held.token().value);
    }

    void leave(const lease& held, const lock_mode& mode) {
        EXPECT_TRUE(held.held());
        if (mode.type() == lock_mode::kind::exclusive)
            --writers_;
        else if (mode.type() == lock_mode::kind::shared)
            --readers_;
        else
            slots_.erase(held.slot());
    }

private:
    std::size_t writers_ = 0;
    std::size_t readers_ = 0;
    std::set<std::uint32_t> slots_;
    std::map<std::string, std::uint64_t> highest_;
};

class walk {
public:
    explicit walk(std::uint32_t seed) : random_(seed) {
        auto config = world.config();
        config.turn_handoffs_max = 3;
        for (int i = 0; i < 3; ++i) {
            clients.emplace_back(world.context.get_executor(), world.server.make_store(), config);
        }
    }

    asio::awaitable<void> act() {
        for (int i = 0; i < 30; ++i) {
            const std::string name = draw(2) == 0 ? "door" : "window";
            const lock_mode mode = draw_mode();
            lock_options options;
            options.mode = mode;
            if (draw(4) == 0)
                options.wait_max = std::chrono::milliseconds(draw(4));
            if (draw(4) == 0)
                options.linger = std::chrono::milliseconds(draw(5));
            const bool impatient = draw(4) == 0;
            acquire_outcome outcome;
            asio::cancellation_signal signal;
            clients[draw(3)].async_acquire(
                name,
                options,
                asio::bind_cancellation_slot(signal.slot(), client_world::record(outcome))
            );
            if (impatient) {
                co_await coro::sleep_for(*world.time, std::chrono::microseconds(draw(3'000)));
                signal.emit(asio::cancellation_type::total);
            }
            while (!outcome.done)
                co_await coro::sleep_for(*world.time, 100us);
            if (outcome.code) {
                EXPECT_TRUE(
                    outcome.code == errc::busy || outcome.code == asio::error::operation_aborted
                ) << outcome.code.message();
                continue;
            }
            ++granted;
            auto& resource = resources_[name];
            resource.enter(outcome.held, mode);
            co_await coro::sleep_for(*world.time, std::chrono::microseconds(draw(1'000)));
            resource.leave(outcome.held, mode);
            outcome.held = lease();
        }
        ++finished;
    }

    client_world world;
    std::vector<lock_client> clients;
    std::size_t finished = 0;
    std::size_t granted = 0;

private:
    std::uint32_t draw(std::uint32_t below) {
        return static_cast<std::uint32_t>(random_() % below);
    }

    lock_mode draw_mode() {
        const auto choice = draw(4);
        return choice == 0   ? lock_mode::permits(2)
               : choice == 1 ? lock_mode::exclusive()
                             : lock_mode::shared();
    }

    std::mt19937 random_;
    std::map<std::string, judged_resource> resources_;
};

TEST(LocalQueueWalk, RandomWishesExcludeEachOtherAndLeaveNothing) {
    for (std::uint32_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        walk all(seed);
        constexpr std::size_t actors = 12;
        for (std::size_t i = 0; i < actors; ++i)
            asio::co_spawn(all.world.context, all.act(), asio::detached);
        ASSERT_TRUE(all.world.run_until([&] { return all.finished == actors; }));
        EXPECT_GT(all.granted, actors * 10);
        all.world.pass(20ms);
        EXPECT_EQ(all.world.server.entries(), 0u);
        std::uint64_t grants = 0;
        for (auto& each : all.clients) {
            EXPECT_EQ(each.stats().waiting, 0u);
            EXPECT_EQ(each.stats().leases, 0u);
            EXPECT_EQ(each.stats().lost, 0u);
            EXPECT_EQ(each.stats().orphans, 0u);
            grants += each.stats().grants;
            all.world.stop(each);
        }
        EXPECT_LT(grants, all.granted) << "some were passed on inside a client";
    }
}

}  // namespace
}  // namespace mortise::test
