// SPDX-License-Identifier: BSL-1.0
// Many wait for a holder that died: they do not all ask for its end at the same moment.
#include "mortise/lock_observer.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstddef>
#include <list>
#include <string>
#include <vector>

namespace mortise::test::reap_spread_test {
namespace {

using namespace std::chrono_literals;

class heartbeat_times final : public lock_observer {
public:
    explicit heartbeat_times(const client_world& world) : world_(world) {}

    void on_event(const lock_event& event) noexcept override {
        if (event.type == lock_event::kind::heartbeat)
            times_.push_back(world_.time->now());
    }
    clock::time_point first_after(clock::time_point begin) const {
        const auto found = std::lower_bound(times_.begin(), times_.end(), begin);
        return found == times_.end() ? clock::time_point::max() : *found;
    }

private:
    const client_world& world_;
    std::vector<clock::time_point> times_;
};

TEST(ReapSpread, WhoeverWaitsForADeadHolderAsksAtAMomentOfItsOwn) {
    constexpr int waiters = 32;
    client_world world;
    asio::io_context of_dead;
    lock_client dead(of_dead.get_executor(), world.server.make_store(), world.config());
    acquire_outcome held;
    dead.async_acquire("door", lock_options(), client_world::record(held));
    ASSERT_TRUE(world.run_until([&] {
        of_dead.restart();
        of_dead.poll();
        return held.done;
    }));
    // From here on its context does not run: no heartbeat comes.
    const auto died = world.time->now();
    world.pass(500ms);  // Their regular heartbeats are not due when it expires.
    std::list<heartbeat_times> observers;
    std::list<lock_client> clients;
    std::list<acquire_outcome> outcomes;
    for (int i = 0; i < waiters; ++i) {
        auto config = world.config();
        config.observer = &observers.emplace_back(world);
        clients.emplace_back(world.context.get_executor(), world.server.make_store(), config);
        lock_options options;
        options.mode = lock_mode::shared();
        clients.back().async_acquire(
            "door", options, client_world::record(outcomes.emplace_back())
        );
    }
    ASSERT_TRUE(world.run_until([&] {
        return std::any_of(outcomes.begin(), outcomes.end(), [](const auto& each) {
            return each.done;
        });
    }));
    const auto ttl = world.config().ttl;
    const auto granted = world.time->now();
    EXPECT_GE(granted - died, ttl);
    EXPECT_LE(granted - died, ttl + ttl / 50 + 5ms);
    // Clients whose turn to ask comes later find that it is done.
    world.pass(1ms);
    const auto asked = std::count_if(observers.begin(), observers.end(), [&](const auto& each) {
        return each.first_after(died + ttl) <= granted + 1ms;
    });
    EXPECT_GE(asked, 1);
    EXPECT_LE(asked, waiters / 2) << "they asked at the same moment";
}

// The dead had more locks than one heartbeat frees: whoever begins to free them goes on at once.
TEST(ReapSpread, WhoeverFreesTheFirstLocksFreesTheRestAtOnce) {
    constexpr std::size_t locks = 4'000;
    client_world world;
    asio::io_context of_dead;
    lock_client dead(of_dead.get_executor(), world.server.make_store(), world.config());
    std::list<acquire_outcome> held;
    for (std::size_t i = 0; i < locks; ++i)
        dead.async_acquire(
            "lock " + std::to_string(i), lock_options(), client_world::record(held.emplace_back())
        );
    ASSERT_TRUE(world.run_until([&] {
        of_dead.restart();
        of_dead.poll();
        return std::all_of(held.begin(), held.end(), [](const auto& each) { return each.done; });
    }));
    const auto died = world.time->now();
    lock_client waits = world.client();
    acquire_outcome outcome;
    const std::string last = "lock " + std::to_string(locks - 1);
    waits.async_acquire(last, lock_options(), client_world::record(outcome));
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    const auto ttl = world.config().ttl;
    EXPECT_LE(world.time->now() - died, ttl + ttl / 50 + 50ms);
}

}  // namespace
}  // namespace mortise::test::reap_spread_test
