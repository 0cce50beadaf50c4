// SPDX-License-Identifier: BSL-1.0
// Several locks by one call of the store: what is asked for, and what is not.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// A client with a session, which its first acquire opens.
class AcquireAll : public testing::Test {
protected:
    AcquireAll() {
        acquire_outcome first;
        alice_.async_acquire("first", lock_options(), client_world::record(first));
        settle();
        first.held = lease();
        settle();
        asked_before_ = alice_.stats().requests;
        granted_before_ = alice_.stats().granted;
    }

    struct outcome {
        outcome() = default;

        bool done = false;
        error_code code;
        lease_set held;
    };

    static std::shared_ptr<edited_line> remote_line() {
        auto line = std::make_shared<edited_line>();
        line->remote = true;
        return line;
    }

    void ask(outcome& into, std::vector<std::string> names, lock_options options = {}) {
        alice_.async_acquire_all(
            std::move(names),
            options,
            asio::bind_cancellation_slot(
                stop_.slot(),
                [&into](error_code code, lease_set held) {
                    EXPECT_FALSE(into.done) << "completed twice";
                    into.done = true;
                    into.code = code;
                    into.held = std::move(held);
                }
            )
        );
        settle();
    }

    void tell(store_event::kind type, error_code why) {
        store_event event;
        event.type = type;
        event.why = why;
        line_->events->on_store_event(event);
    }

    /// Asks for "a" and "b", which are granted, but no answer comes yet; `next` waits for "a".
    void ask_without_answer(outcome& all, acquire_outcome& next) {
        line_->hold_answers = true;
        ask(all, {"a", "b"});
        bob_.async_acquire("a", lock_options(), client_world::record(next));
        settle();
    }

    void settle() { world_.pass(5ms); }

    bool is_free(const std::string& name) {
        bool free = false;
        bool done = false;
        bob_.async_try_acquire(
            name,
            lock_options(),
            [&](error_code code, std::optional<lease> got) {
                EXPECT_FALSE(code) << code.message();
                free = got.has_value();
                done = true;
            }
        );
        EXPECT_TRUE(world_.run_until([&] { return done; }));
        settle();
        return free;
    }

    void expect_all_for(lock_client& client) {
        bool done = false;
        client.async_acquire_all(
            {"a", "b", "c"},
            lock_options(),
            [&](error_code code, lease_set held) { done = !code && held.size() == 3; }
        );
        EXPECT_TRUE(world_.run_until([&] { return done; }));
    }

    void expect_held(const outcome& of, std::size_t count) {
        EXPECT_TRUE(of.done && !of.code) << of.code.message();
        EXPECT_EQ(of.held.size(), count);
        EXPECT_TRUE(of.held.held());
        EXPECT_EQ(alice_.stats().leases, count);
        EXPECT_EQ(alice_.stats().waiting, 0u);
    }

    client_world world_;
    const std::shared_ptr<edited_line> line_ = remote_line();
    asio::cancellation_signal stop_;
    lock_client alice_ =
        world_.client(std::make_unique<edited_store>(world_.server.make_store(), line_));
    lock_client bob_ = world_.client();
    std::uint64_t asked_before_ = 0;
    std::uint64_t granted_before_ = 0;
};

TEST_F(AcquireAll, IsOneCallIfAllAreFree) {
    outcome all;
    ask(all, {"c", "a", "b"});
    expect_held(all, 3);
    EXPECT_EQ(line_->in_order, 1u);
    EXPECT_EQ(alice_.stats().requests - asked_before_, 3u);
    EXPECT_EQ(alice_.stats().granted - granted_before_, 3u);
    all.held = lease_set();
    settle();
    EXPECT_EQ(world_.server.entries(), 0u);
}

TEST_F(AcquireAll, OfManyIsAFewCalls) {
    std::vector<std::string> names;
    for (int i = 0; i < 200; ++i)
        names.push_back("lock " + std::to_string(i));
    outcome all;
    ask(all, names);
    expect_held(all, 200);
    EXPECT_EQ(line_->in_order, 4u);
    EXPECT_EQ(alice_.stats().requests - asked_before_, 200u);
}

TEST_F(AcquireAll, OfAClientWithoutASessionWaitsForIt) {
    lock_client carol =
        world_.client(std::make_unique<edited_store>(world_.server.make_store(), line_));
    expect_all_for(carol);
}

TEST_F(AcquireAll, IsOneByOneWhereTheStoreCannot) {
    line_->edit_traits = [](store_traits& traits) { traits.request_in_order = false; };
    lock_client carol =
        world_.client(std::make_unique<edited_store>(world_.server.make_store(), line_));
    const lease session = world_.acquire(carol, "session");
    expect_all_for(carol);
    EXPECT_EQ(line_->in_order, 0u);
}

TEST_F(AcquireAll, AsksForNothingBehindWhatIsTaken) {
    lease taken = world_.acquire(bob_, "b");
    outcome all;
    ask(all, {"a", "b", "c", "d"});
    EXPECT_FALSE(all.done);
    EXPECT_EQ(alice_.stats().requests - asked_before_, 2u);
    EXPECT_EQ(alice_.stats().waiting, 1u);
    EXPECT_FALSE(is_free("a"));
    EXPECT_TRUE(is_free("c") && is_free("d"));
    taken = lease();
    settle();
    expect_held(all, 4);
    EXPECT_EQ(line_->in_order, 2u);
    const auto stats = alice_.stats();
    EXPECT_EQ(stats.requests - asked_before_, 4u);
    EXPECT_EQ(stats.granted - granted_before_, 4u);
    EXPECT_EQ(stats.busy + stats.failed + stats.cancelled, 0u) << "what was not asked for counts";
}

TEST_F(AcquireAll, GoesOnBehindWhatAnotherCoroutineHas) {
    acquire_outcome other;
    alice_.async_acquire("b", lock_options(), client_world::record(other));
    settle();
    outcome all;
    ask(all, {"a", "b", "c"});
    EXPECT_FALSE(all.done);
    EXPECT_TRUE(is_free("c"));
    other.held = lease();
    settle();
    expect_held(all, 3);
}

TEST_F(AcquireAll, ATryInVainLeavesNothing) {
    const lease taken = world_.acquire(bob_, "b");
    outcome all;
    lock_options at_once;
    at_once.wait_max = 0ms;
    ask(all, {"a", "b", "c"}, at_once);
    EXPECT_TRUE(all.done);
    EXPECT_EQ(all.code, errc::busy);
    EXPECT_EQ(world_.server.entries(), 1u);
    EXPECT_EQ(alice_.stats().busy, 1u);
}

// What was behind would otherwise be asked for by itself, and be held while what is in front of it
// is waited for: two of these calls could then wait for each other.
TEST_F(AcquireAll, WhoseAnswerIsLostHoldsNothingBehindWhatItWaitsFor) {
    lease taken = world_.acquire(bob_, "a");
    line_->lose_in_order = true;
    outcome all;
    ask(all, {"a", "b"});
    world_.pass(2s);
    EXPECT_FALSE(all.done);
    EXPECT_TRUE(is_free("b"));
    taken = lease();
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    expect_held(all, 2);
    all.held = lease_set();
    settle();
    EXPECT_EQ(world_.server.entries(), 0u);
}

TEST_F(AcquireAll, WhoseAnswerIsLostThoughAllWereGrantedGetsAll) {
    line_->lose_in_order = true;
    outcome all;
    ask(all, {"a", "b", "c"});
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    expect_held(all, 3);
    EXPECT_EQ(world_.server.entries(), 3u);
}

TEST_F(AcquireAll, WhoseSessionIsLostMeanwhileHoldsNothingBehindWhatItWaitsFor) {
    lease taken = world_.acquire(bob_, "a");
    line_->hold_answers = true;
    outcome all;
    ask(all, {"a", "b"});
    tell(store_event::kind::session_lost, errc::lease_lost);
    line_->hold_answers = false;
    world_.pass(4s);  // the old session is forgotten
    EXPECT_FALSE(all.done);
    EXPECT_TRUE(is_free("b"));
    taken = lease();
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    expect_held(all, 2);
}

// The answer came too late to be believed, and the session is gone.
// The store has forgotten the request that waits, say by a restart.
TEST_F(AcquireAll, WhoseLastRequestIsMissingAsksAnew) {
    lease taken = world_.acquire(bob_, "b");
    outcome all;
    ask(all, {"a", "b"});
    const auto asked = alice_.stats().requests;
    line_->edit_look = [](session_view& view) {
        std::erase_if(view.entries, [](const session_entry& each) { return each.name == "b"; });
    };
    tell(store_event::kind::look_again, {});
    settle();
    line_->edit_look = nullptr;
    EXPECT_EQ(alice_.stats().requests, asked + 1);
    EXPECT_FALSE(all.done);
    taken = lease();
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    expect_held(all, 2);
}

TEST_F(AcquireAll, WhoseGrantsAreDoubtfulHoldsNothingBehindWhatItWaitsFor) {
    outcome all;
    acquire_outcome next;
    ask_without_answer(all, next);
    line_->fail_beats = 0;
    tell(store_event::kind::unsure, {});
    line_->hold_answers = false;
    settle();
    EXPECT_FALSE(all.done) << "nothing is sure before the next heartbeat";
    tell(store_event::kind::session_lost, errc::lease_lost);
    line_->fail_beats = std::nullopt;
    world_.pass(4s);  // the old session is forgotten
    EXPECT_TRUE(next.held.held());
    EXPECT_FALSE(all.done);
    EXPECT_TRUE(is_free("b"));
    next.held = lease();
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    expect_held(all, 2);
}

TEST_F(AcquireAll, WhoseFirstGrantWasBrokenMeanwhileHoldsNothingBehindIt) {
    outcome all;
    acquire_outcome next;
    ask_without_answer(all, next);
    bool broken = false;
    bob_.async_inspect("a", 1, [&](error_code, std::optional<lock_view> seen) {
        const auto token = seen.value().holders.at(0).token;
        bob_.async_break("a", token, "test", [&](error_code, bool was) { broken = was; });
    });
    settle();
    EXPECT_TRUE(broken && next.held.held());
    store_event gone;
    gone.type = store_event::kind::look_again;
    gone.id = 2;  // the request for "a"
    gone.change = 9;
    line_->events->on_store_event(gone);
    line_->hold_answers = false;
    settle();
    EXPECT_FALSE(all.done);
    EXPECT_TRUE(is_free("b"));
    next.held = lease();
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    expect_held(all, 2);
}

TEST_F(AcquireAll, ThatIsCancelledBeforeItsAnswerLeavesNothing) {
    line_->hold_answers = true;
    outcome all;
    ask(all, {"a", "b", "c"});
    stop_.emit(asio::cancellation_type::total);
    settle();
    line_->hold_answers = false;
    ASSERT_TRUE(world_.run_until([&] { return all.done; }));
    EXPECT_EQ(all.code, asio::error::operation_aborted);
    EXPECT_EQ(world_.server.entries(), 0u);
    EXPECT_EQ(alice_.stats().leases + alice_.stats().waiting, 0u);
}

TEST_F(AcquireAll, ThatWaitsBehindOthersOfItsCallIsCancelled) {
    const lease taken = world_.acquire(bob_, "b");
    outcome all;
    ask(all, {"a", "b", "c"});
    stop_.emit(asio::cancellation_type::total);
    settle();
    EXPECT_EQ(all.code, asio::error::operation_aborted);
    EXPECT_EQ(world_.server.entries(), 1u);
}

TEST_F(AcquireAll, LeavesOthersOfThisProcessTheirTurn) {
    lease taken = world_.acquire(bob_, "b");
    outcome all;
    ask(all, {"a", "b"});  // waits for "b" by a request of its own
    acquire_outcome other;
    alice_.async_acquire("b", lock_options(), client_world::record(other));
    settle();
    taken = lease();
    settle();
    EXPECT_TRUE(all.done && !all.code);
    EXPECT_FALSE(other.done);
    all.held = lease_set();
    settle();
    EXPECT_TRUE(other.held.held());
    other.held = lease();
    world_.stop(alice_);
    EXPECT_EQ(world_.server.entries(), 0u);
}

}  // namespace
}  // namespace mortise::test
