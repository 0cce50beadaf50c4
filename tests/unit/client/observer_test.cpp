// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_observer.hpp"
#include "unit/client/client_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using event_kind = lock_event::kind;

struct seen_event {
    event_kind type{};
    std::string name;
    fencing_token token;
    error_code code;
    clock::duration took{};
};

/// Keeps what it hears; heartbeats that go well only by their number.
class record_keeper final : public lock_observer {
public:
    void on_event(const lock_event& event) noexcept override {
        if (event.type == event_kind::heartbeat)
            ++beats;
        else
            events.push_back(
                {event.type, std::string(event.name), event.token, event.code, event.took}
            );
    }

    std::vector<event_kind> kinds() const {
        std::vector<event_kind> all;
        for (const auto& each : events)
            all.push_back(each.type);
        return all;
    }

    const seen_event& only(event_kind type) const {
        static const seen_event none{};
        const auto is = [type](const seen_event& each) { return each.type == type; };
        EXPECT_EQ(std::count_if(events.begin(), events.end(), is), 1) << to_string(type);
        const auto found = std::find_if(events.begin(), events.end(), is);
        return found == events.end() ? none : *found;
    }

    std::size_t beats = 0;
    std::vector<seen_event> events;
};

/// A client that is observed.
lock_client observed_client(client_world& world, record_keeper& keeper) {
    client_config config = world.config();
    config.observer = &keeper;
    return lock_client(world.context.get_executor(), world.server.make_store(), config);
}

TEST(LockObserver, HearsOfAnAcquireAndItsRelease) {
    client_world world;
    record_keeper keeper;
    lock_client alice = observed_client(world, keeper);
    lease held = world.acquire(alice, "door");
    const fencing_token token = held.token();
    held = lease();
    world.pass(10ms);
    EXPECT_EQ(
        keeper.kinds(),
        (std::vector{
            event_kind::waiting,
            event_kind::session_opened,
            event_kind::acquired,
            event_kind::released})
    );
    for (const auto& each : keeper.events)
        EXPECT_EQ(each.name, each.type == event_kind::session_opened ? "" : "door");
    EXPECT_EQ(keeper.only(event_kind::acquired).token, token);
    EXPECT_EQ(keeper.only(event_kind::released).token, token);
    EXPECT_FALSE(keeper.only(event_kind::waiting).token);
    world.pass(10s);
    EXPECT_GE(keeper.beats, 9u);  // one for each third of the TTL
    EXPECT_EQ(keeper.beats, alice.stats().heartbeats);
    world.stop(alice);
}

TEST(LockObserver, HearsWhoContendsAndForHowLongOneWaited) {
    client_world world;
    record_keeper of_alice;
    record_keeper of_bob;
    lock_client alice = observed_client(world, of_alice);
    lock_client bob = observed_client(world, of_bob);
    lease held = world.acquire(alice, "door");
    const fencing_token token = held.token();
    acquire_outcome outcome;
    bob.async_acquire("door", lock_options(), client_world::record(outcome));
    world.pass(40ms);
    EXPECT_EQ(of_alice.only(event_kind::contended).name, "door");
    EXPECT_EQ(of_alice.only(event_kind::contended).token, token);
    EXPECT_TRUE(held.contended());
    EXPECT_EQ(of_bob.kinds(), (std::vector{event_kind::waiting, event_kind::session_opened}));
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(of_bob.only(event_kind::acquired).took, 40ms);
    EXPECT_EQ(of_bob.only(event_kind::acquired).token, outcome.held.token());
    EXPECT_EQ(of_bob.kinds().back(), event_kind::acquired);
}

TEST(LockObserver, HearsWhyAnAcquireWasRefused) {
    client_world world;
    record_keeper keeper;
    lock_client alice = world.client();
    lock_client bob = observed_client(world, keeper);
    const lease held = world.acquire(alice, "door");
    acquire_outcome late;
    bob.async_acquire("door", {.wait_max = 30ms}, client_world::record(late));
    ASSERT_TRUE(world.run_until([&] { return late.done; }));
    EXPECT_EQ(keeper.only(event_kind::refused).code, errc::busy);
    EXPECT_EQ(keeper.only(event_kind::refused).name, "door");
    EXPECT_EQ(keeper.only(event_kind::refused).took, 30ms);

    keeper.events.clear();
    acquire_outcome cancelled;
    asio::cancellation_signal signal;
    bob.async_acquire(
        "door",
        lock_options(),
        asio::bind_cancellation_slot(signal.slot(), client_world::record(cancelled))
    );
    world.pass(5ms);
    signal.emit(asio::cancellation_type::total);
    ASSERT_TRUE(world.run_until([&] { return cancelled.done; }));
    EXPECT_EQ(keeper.kinds(), (std::vector{event_kind::waiting, event_kind::refused}));
    EXPECT_EQ(keeper.only(event_kind::refused).code, asio::error::operation_aborted);

    keeper.events.clear();
    acquire_outcome nameless;
    bob.async_acquire("", lock_options(), client_world::record(nameless));
    ASSERT_TRUE(world.run_until([&] { return nameless.done; }));
    EXPECT_EQ(keeper.kinds(), (std::vector{event_kind::refused}));
    EXPECT_EQ(keeper.only(event_kind::refused).code, errc::name_empty);
}

TEST(LockObserver, HearsOfALeaseThatIsTakenByForce) {
    client_world world;
    record_keeper keeper;
    lock_client alice = observed_client(world, keeper);
    lock_client bob = world.client();
    const lease held = world.acquire(alice, "door");
    bool broken = false;
    bob.async_break("door", held.token(), "test", [&](error_code, bool was) { broken = was; });
    ASSERT_TRUE(world.run_until([&] { return broken; }));
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_EQ(keeper.only(event_kind::lost).name, "door");
    EXPECT_EQ(keeper.only(event_kind::lost).token, held.token());
    EXPECT_EQ(keeper.only(event_kind::lost).code, errc::lease_lost);
    EXPECT_EQ(keeper.kinds().back(), event_kind::lost);
}

TEST(LockObserver, HearsOfTheEndOfASessionStepByStep) {
    client_world world;
    record_keeper keeper;
    lock_client alice = observed_client(world, keeper);
    const lease door = world.acquire(alice, "door");
    const lease window = world.acquire(alice, "window");
    keeper.events.clear();
    world.server.set_unavailable(true);
    ASSERT_TRUE(world.run_until([&] { return !door.held(); }));
    const auto before = keeper.kinds();
    const auto warned = std::count(before.begin(), before.end(), event_kind::warned);
    EXPECT_EQ(warned, 2);  // before the window has ended, and each of them once
    EXPECT_EQ(before.front(), event_kind::heartbeat_failed);
    EXPECT_EQ(std::count(before.begin(), before.end(), event_kind::lost), 0);

    world.server.restart(false);
    world.server.set_unavailable(false);
    ASSERT_TRUE(world.run_until([&] { return door.state() == lease_state::lost; }));
    auto after = keeper.kinds();
    after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(before.size()));
    std::erase(after, event_kind::heartbeat_failed);
    EXPECT_EQ(after, (std::vector{event_kind::session_lost, event_kind::lost, event_kind::lost}));
    EXPECT_EQ(keeper.only(event_kind::session_lost).code, errc::lease_lost);
    EXPECT_EQ(keeper.only(event_kind::session_lost).name, "");
}

TEST(LockObserver, HearsOfAReleaseThatFoundNoGrant) {
    client_world world;
    record_keeper keeper;
    lock_client alice = observed_client(world, keeper);
    lock_client bob = world.client();
    lease held = world.acquire(alice, "door");
    const fencing_token token = held.token();
    world.server.lose_pushes(1);  // Alice does not hear of it
    bool broken = false;
    bob.async_break("door", token, "test", [&](error_code, bool was) { broken = was; });
    ASSERT_TRUE(world.run_until([&] { return broken; }));
    ASSERT_TRUE(held.held());
    held = lease();
    world.pass(10ms);
    EXPECT_EQ(keeper.only(event_kind::release_failed).code, errc::lease_lost);
    EXPECT_EQ(keeper.only(event_kind::release_failed).token, token);
}

TEST(LockObserver, HearsOfAReleaseThatIsNotAcknowledgedInTime) {
    client_world world;
    record_keeper keeper;
    lock_client alice = observed_client(world, keeper);
    lease held = world.acquire(alice, "door");
    world.server.set_unavailable(true);
    held = lease();
    world.pass(2'001ms);  // the release budget
    EXPECT_EQ(alice.stats().undone_late, 1u);
    EXPECT_EQ(keeper.only(event_kind::release_failed).name, "door");
}

TEST(LockObserver, EveryKindHasANameOfItsOwn) {
    std::set<std::string> names;
    for (auto type = event_kind::waiting; type <= event_kind::heartbeat_failed;
         type = static_cast<event_kind>(static_cast<int>(type) + 1))
        EXPECT_TRUE(names.insert(to_string(type)).second) << to_string(type);
    EXPECT_EQ(names.size(), 12u);
}

}  // namespace
}  // namespace mortise::test
