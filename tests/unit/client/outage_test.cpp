// SPDX-License-Identifier: BSL-1.0
// A store at a server is away for a while: a waiter for a lock waits for the store, too.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class Outage : public testing::Test {
protected:
    lock_client remote_client(std::chrono::milliseconds ttl = 3s) {
        const auto line = std::make_shared<edited_line>();
        line->remote = true;
        client_config config = world.config();
        config.ttl = ttl;
        return lock_client(
            world.context.get_executor(),
            std::make_unique<edited_store>(world.server.make_store(), line),
            std::move(config)
        );
    }

    void
    ask(lock_client& client,
        acquire_outcome& outcome,
        std::string name,
        std::chrono::milliseconds wait = std::chrono::milliseconds::max()) {
        lock_options options;
        options.wait_max = wait;
        client.async_acquire(std::move(name), options, client_world::record(outcome));
    }

    client_world world;
};

TEST_F(Outage, BeforeTheFirstSessionIsWaitedOut) {
    lock_client client = remote_client();
    world.server.set_unavailable(true);
    acquire_outcome outcome;
    ask(client, outcome, "door", 5s);
    world.pass(3s);
    EXPECT_FALSE(outcome.done);
    world.server.set_unavailable(false);
    const auto back = world.time->now();
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
    EXPECT_LE(world.time->now() - back, 1s) << "it tries once a second at least";
}

// A server that stood still begins a session, and answers when that is over already.
TEST_F(Outage, LongerThanTheNewSessionIsWaitedOut) {
    const auto line = std::make_shared<edited_line>();
    line->remote = true;
    int lost = 2;
    line->refuse_session = [&] {
        return lost-- > 0 ? error_code(errc::session_lost) : error_code();
    };
    lock_client client =
        world.client(std::make_unique<edited_store>(world.server.make_store(), line));
    acquire_outcome outcome;
    ask(client, outcome, "door", 5s);
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
    EXPECT_EQ(lost, -1) << "both sessions were lost, and the third was begun";
}

TEST_F(Outage, EndsATryAtOnce) {
    lock_client client = remote_client();
    world.server.set_unavailable(true);
    for (const bool in_session : {false, true}) {
        SCOPED_TRACE(in_session);
        std::optional<error_code> code;
        const auto before = world.time->now();
        client.async_try_acquire("door", lock_options(), [&](error_code ec, std::optional<lease>) {
            code = ec;
        });
        // One in a session is undone first, for which it has its budget.
        ASSERT_TRUE(world.run_until([&] { return code.has_value(); }));
        EXPECT_EQ(*code, errc::store_unavailable);
        EXPECT_LE(world.time->now() - before, in_session ? 2s : 0s);
        world.server.set_unavailable(false);
        lease held = world.acquire(client, "window");
        world.server.set_unavailable(true);
    }
}

TEST_F(Outage, IsTheReasonOfWhoseTimeRunsOutMeanwhile) {
    lock_client client = remote_client();
    lease held = world.acquire(client, "window");
    world.server.set_unavailable(true);
    acquire_outcome first;
    acquire_outcome second;
    ask(client, first, "door", 500ms);
    ask(client, second, "door", 600ms);
    ASSERT_TRUE(world.run_until([&] { return first.done && second.done; }));
    EXPECT_EQ(first.code, errc::store_unavailable) << "nobody holds it";
    EXPECT_EQ(second.code, errc::store_unavailable);
    world.server.set_unavailable(false);
    world.pass(3s);
    held = lease();
    world.pass(1s);
    EXPECT_EQ(world.server.entries(), 0u) << "what was asked was undone";
}

TEST_F(Outage, ThatIsOverIsNoReasonLater) {
    lock_client client = remote_client();
    lock_client other = remote_client();
    const lease held = world.acquire(other, "door");
    acquire_outcome waiter;
    ask(client, waiter, "door", 10s);
    world.pass(100ms);
    world.server.set_unavailable(true);
    bool tried = false;
    client.async_try_acquire("gate", lock_options(), [&](error_code, std::optional<lease>) {
        tried = true;
    });
    world.pass(300ms);
    world.server.set_unavailable(false);
    ASSERT_TRUE(world.run_until([&] { return waiter.done; }));
    EXPECT_TRUE(tried);
    EXPECT_EQ(waiter.code, errc::busy);
}

// The refusal of the first in the queue lets the next one open a session, at once.
TEST_F(Outage, ThatNobodyWaitsForHoldsNobodyUpLater) {
    const auto line = std::make_shared<edited_line>();
    bool refuses = true;
    line->refuse_session = [&] {
        return std::exchange(refuses, false) ? error_code(errc::access_denied) : error_code();
    };
    lock_client client =
        world.client(std::make_unique<edited_store>(world.server.make_store(), line));
    acquire_outcome writer;
    acquire_outcome reader;
    acquire_outcome later;
    ask(client, writer, "door");
    lock_options to_read;
    to_read.mode = lock_mode::shared();
    client.async_acquire("door", to_read, client_world::record(reader));
    line->hold_resume = 0;
    world.pass(5ms);
    EXPECT_EQ(writer.code, errc::access_denied);
    line->hold_resume.reset();
    ASSERT_TRUE(world.run_until([&] { return reader.done; }));
    EXPECT_TRUE(reader.held.held()) << reader.code.message();
    ask(client, later, "gate");
    world.pass(2s);
    EXPECT_TRUE(later.done) << "there is a session";
}

TEST_F(Outage, OfAStoreThatWasNeverReachedIsToldAfterAWhile) {
    lock_client client = remote_client();
    world.server.set_unavailable(true);
    bool tried = false;
    client.async_try_acquire("door", lock_options(), [&](error_code, std::optional<lease>) {
        tried = true;
    });
    world.pass(20s);
    EXPECT_TRUE(tried);
    acquire_outcome outcome;
    const auto before = world.time->now();  // that of a try is another outage
    ask(client, outcome, "door");
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_EQ(outcome.code, errc::store_unavailable);
    EXPECT_GE(world.time->now() - before, 10s);
    EXPECT_LE(world.time->now() - before, 12s);
}

TEST_F(Outage, OfAKnownStoreIsWaitedOutForAsLongAsAsked) {
    lock_client client = remote_client();
    lock_client other = remote_client();
    { const lease known = world.acquire(client, "window"); }
    lease held = world.acquire(other, "door");
    acquire_outcome queued;
    ask(client, queued, "door");
    world.pass(100ms);
    for (const auto span : {1s, 8s}) {  // shorter and longer than the TTL
        SCOPED_TRACE(span.count());
        world.server.set_unavailable(true);
        acquire_outcome meanwhile;
        ask(client, meanwhile, "gate");
        world.pass(span);
        EXPECT_FALSE(meanwhile.done);
        EXPECT_FALSE(queued.done);
        world.server.set_unavailable(false);
        ASSERT_TRUE(world.run_until([&] { return meanwhile.done; }));
        EXPECT_TRUE(meanwhile.held.held()) << meanwhile.code.message();
    }
    held = lease();
    ASSERT_TRUE(world.run_until([&] { return queued.done; }));
    EXPECT_TRUE(queued.held.held()) << queued.code.message();
}

TEST_F(Outage, ALostAnswerIsAskedForAgainByTheSameId) {
    lock_client client = remote_client();
    { const lease known = world.acquire(client, "window"); }
    world.pass(100ms);
    for (std::size_t lost = 1; lost <= 4; ++lost) {
        SCOPED_TRACE(lost);
        world.server.lose_replies(lost);
        acquire_outcome outcome;
        ask(client, outcome, "door", 5s);
        ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
        EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
        EXPECT_EQ(world.server.entries(), 1u) << "it was granted once";
        outcome.held = lease();
        world.pass(100ms);
    }
    EXPECT_EQ(client.stats().failed, 0u);
}

TEST_F(Outage, TakesNothingOfTheTimeOfAGrantThatEndsByItself) {
    lock_client client = remote_client();
    { const lease known = world.acquire(client, "window"); }
    world.pass(100ms);
    world.server.set_unavailable(true);
    lock_options options;
    options.hold_max = 1s;
    acquire_outcome outcome;
    client.async_acquire("door", options, client_world::record(outcome));
    world.pass(1'500ms);
    EXPECT_FALSE(outcome.done);
    world.server.set_unavailable(false);
    ASSERT_TRUE(world.run_until([&] { return outcome.done; }));
    EXPECT_TRUE(outcome.held.held()) << outcome.code.message();
    EXPECT_GE(outcome.held.valid_until(), world.time->now() + 900ms);
}

TEST_F(Outage, InTheMiddleOfSeveralLocksIsWaitedOut) {
    lock_client client = remote_client();
    lock_client other = remote_client();
    lease in_the_way = world.acquire(other, "b");
    std::optional<error_code> code;
    lease_set held;
    lock_options options;
    options.wait_max = 10s;
    client.async_acquire_all({"a", "b", "c"}, options, [&](error_code ec, lease_set got) {
        code = ec;
        held = std::move(got);
    });
    world.pass(100ms);
    in_the_way = lease();
    world.server.set_unavailable(true);
    world.pass(1s);
    EXPECT_FALSE(code);
    world.server.set_unavailable(false);
    ASSERT_TRUE(world.run_until([&] { return code.has_value(); }));
    EXPECT_FALSE(*code) << code->message();
    EXPECT_TRUE(held.held());
}

// The session ended in the outage, and nobody waited any longer: the next caller opens another one.
TEST_F(Outage, ThatNobodyWaitsOutKeepsNobodyWaitingAfterwards) {
    lock_client client = remote_client();
    lease held = world.acquire(client, "window");
    world.server.set_unavailable(true);
    acquire_outcome given_up;
    ask(client, given_up, "door", 500ms);
    world.pass(10s);
    EXPECT_TRUE(given_up.done);
    world.server.set_unavailable(false);
    world.pass(10s);
    EXPECT_EQ(held.state(), lease_state::lost);
    acquire_outcome next;
    ask(client, next, "door");
    ASSERT_TRUE(world.run_until([&] { return next.done; }));
    EXPECT_TRUE(next.held.held()) << next.code.message();
}

// Each waiter asks again, but all together a thousand times a second at most.
TEST_F(Outage, OfThousandsOfWaitersDoesNotKeepTheProcessorBusy) {
    lock_client client = remote_client(60s);
    const lease session = world.acquire(client, "window");
    world.server.set_unavailable(true);
    constexpr std::size_t waiters = 2'000;
    std::vector<acquire_outcome> outcomes(waiters);
    for (std::size_t i = 0; i < waiters; ++i)
        ask(client, outcomes[i], "name-" + std::to_string(i));
    world.pass(10s);
    EXPECT_GE(client.stats().requests, 2 * waiters) << "they ask again";
    EXPECT_LE(client.stats().requests, waiters + 10'000 + 200);
    world.server.set_unavailable(false);
    const auto back = world.time->now();
    ASSERT_TRUE(world.run_until([&] {
        return std::all_of(outcomes.begin(), outcomes.end(), [](auto& each) { return each.done; });
    }));
    EXPECT_LE(world.time->now() - back, 4s) << "a second for a pause, two for two thousand";
    EXPECT_TRUE(std::all_of(outcomes.begin(), outcomes.end(), [](auto& each) {
        return each.held.held();
    }));
}

TEST_F(Outage, OfAMomentDelaysNoRetryForThousandsWhoWaitUndisturbed) {
    lock_client client = remote_client(60s);
    lock_client other = remote_client(60s);
    std::vector<lease> held;
    std::vector<acquire_outcome> outcomes(2'000);
    for (acquire_outcome& each : outcomes) {
        const std::string name = "name-" + std::to_string(held.size());
        held.push_back(world.acquire(other, name));
        ask(client, each, name);
    }
    const lease taken = world.acquire(other, "gate");
    asio::cancellation_signal signal;
    acquire_outcome cancelled;
    client.async_acquire(
        "gate",
        lock_options(),
        asio::bind_cancellation_slot(signal.slot(), client_world::record(cancelled))
    );
    world.pass(100ms);
    const std::size_t entries = world.server.entries();
    world.server.set_unavailable(true);
    signal.emit(asio::cancellation_type::terminal);
    world.pass(10ms);
    world.server.set_unavailable(false);
    world.pass(100ms);
    EXPECT_EQ(world.server.entries(), entries - 1) << "it was withdrawn at the second try";
}

TEST_F(Outage, MayBeCancelledAndStoppedIn) {
    lock_client client = remote_client();
    world.server.set_unavailable(true);
    acquire_outcome outcome;
    ask(client, outcome, "door", 60s);
    world.pass(1s);
    std::optional<error_code> stopped;
    client.async_stop([&](error_code ec) { stopped = ec; });
    ASSERT_TRUE(world.run_until([&] { return stopped.has_value() && outcome.done; }));
    EXPECT_EQ(outcome.code, errc::client_stopped);
}

}  // namespace
}  // namespace mortise::test
