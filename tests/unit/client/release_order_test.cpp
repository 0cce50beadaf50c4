// SPDX-License-Identifier: BSL-1.0
// Who goes to the end of the queue again asks when the store has the lock back.
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <memory>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// A client passed its lock on once, and will not again: another client waits. It has one more
/// coroutine that wants the lock.
class ReleaseOrder : public testing::Test {
protected:
    explicit ReleaseOrder(bool in_one_step = false) : line_(make_line(in_one_step)) {
        ask(alice_, first_);
        ask(alice_, second_);
        alice_.async_acquire(
            "door",
            lock_options(),
            asio::bind_cancellation_slot(signal_.slot(), client_world::record(third_))
        );
        ask(bob_, other_);
        let_go(first_);
        EXPECT_TRUE(second_.held.held() && second_.held.contended());
        EXPECT_FALSE(third_.done || other_.done);
        EXPECT_EQ(alice_.stats().requests, 1u);
    }

    ~ReleaseOrder() override {
        world_.stop(alice_);
        world_.stop(bob_);
        EXPECT_EQ(world_.server.entries(), 0u);
    }

    static std::shared_ptr<edited_line> make_line(bool in_one_step) {
        auto line = std::make_shared<edited_line>();
        line->release_and_request = in_one_step;
        return line;
    }

    void ask(lock_client& locks, acquire_outcome& into) {
        locks.async_acquire("door", lock_options(), client_world::record(into));
        settle();
    }

    void let_go(acquire_outcome& outcome) {
        outcome.held = lease();
        settle();
    }

    void settle() { world_.pass(1ms); }

    client_config once() const {
        auto config = world_.config();
        config.turn_handoffs_max = 1;
        return config;
    }

    client_world world_;
    const std::shared_ptr<edited_line> line_;
    acquire_outcome first_, second_, third_, other_;
    asio::cancellation_signal signal_;
    lock_client alice_{
        world_.context.get_executor(),
        std::make_unique<edited_store>(world_.server.make_store(), line_),
        once()};
    lock_client bob_ = world_.client();
};

TEST_F(ReleaseOrder, AsksWhenTheStoreHasTheLockBack) {
    line_->hold_releases = true;
    let_go(second_);
    world_.pass(20ms);
    EXPECT_EQ(alice_.stats().requests, 1u);
    EXPECT_FALSE(other_.done);
    line_->hold_releases = false;
    world_.pass(2ms);
    EXPECT_TRUE(other_.held.held());
    EXPECT_EQ(alice_.stats().requests, 2u);
    EXPECT_TRUE(other_.held.contended()) << "alice stands in the queue again";
    EXPECT_FALSE(third_.done);
    let_go(other_);
    EXPECT_TRUE(third_.held.held());
    let_go(third_);
}

TEST_F(ReleaseOrder, AsksThoughNobodyKnowsWhetherTheStoreHasIt) {
    line_->lose_releases = true;
    let_go(second_);
    EXPECT_TRUE(other_.held.held());
    EXPECT_EQ(alice_.stats().requests, 2u);
    line_->lose_releases = false;
    let_go(other_);
    EXPECT_TRUE(third_.held.held());
    let_go(third_);
    world_.pass(100ms);  // the release is tried again meanwhile
}

TEST_F(ReleaseOrder, WhoWaitsForThatCanBeCancelled) {
    line_->hold_releases = true;
    let_go(second_);
    EXPECT_FALSE(third_.done);
    signal_.emit(asio::cancellation_type::total);
    settle();
    ASSERT_TRUE(third_.done);
    EXPECT_EQ(third_.code, asio::error::operation_aborted);
    line_->hold_releases = false;
    world_.pass(2ms);
    EXPECT_TRUE(other_.held.held());
    EXPECT_FALSE(other_.held.contended());
    EXPECT_EQ(alice_.stats().requests, 1u);
    let_go(other_);
}

TEST_F(ReleaseOrder, WhoWaitsForThatAsksOnceWhenTheSessionIsLostMeanwhile) {
    line_->hold_releases = true;
    let_go(second_);
    world_.server.restart(false);
    ASSERT_TRUE(world_.run_until([&] { return alice_.stats().requests == 2; }))
        << "with a new session";
    line_->hold_releases = false;
    ASSERT_TRUE(world_.run_until([&] { return third_.done || other_.done; }));
    acquire_outcome& earlier = third_.done ? third_ : other_;
    acquire_outcome& later = third_.done ? other_ : third_;
    EXPECT_TRUE(earlier.held.held());
    EXPECT_FALSE(later.done);
    let_go(earlier);
    EXPECT_TRUE(later.held.held());
    let_go(later);
    EXPECT_EQ(alice_.stats().requests, 2u);
}

TEST_F(ReleaseOrder, WhoWaitsForThatIsToldWhenTheClientStops) {
    line_->hold_releases = true;
    let_go(second_);
    bool stopped = false;
    alice_.async_stop([&](error_code) { stopped = true; });
    settle();
    ASSERT_TRUE(third_.done);
    EXPECT_EQ(third_.code, errc::client_stopped);
    line_->hold_releases = false;
    ASSERT_TRUE(world_.run_until([&] { return stopped && other_.done; }));
    let_go(other_);
    EXPECT_EQ(alice_.stats().requests, 1u);
}

/// The same at a store that takes a release and a request in one step.
class ReleaseAndRequest : public ReleaseOrder {
protected:
    ReleaseAndRequest() : ReleaseOrder(true) {}
    ~ReleaseAndRequest() override { EXPECT_EQ(line_->both, 1u); }
};

TEST_F(ReleaseAndRequest, AreOneCallOfTheStore) {
    let_go(second_);
    EXPECT_TRUE(other_.held.held() && other_.held.contended());
    EXPECT_EQ(alice_.stats().requests, 2u);
    EXPECT_EQ(alice_.stats().released, 2u);
    let_go(other_);
    EXPECT_TRUE(third_.held.held());
    let_go(third_);
}

TEST_F(ReleaseAndRequest, AreRepeatedOneByOneIfTheirAnswerIsLost) {
    line_->lose_releases = true;
    let_go(second_);
    EXPECT_TRUE(other_.held.held());
    line_->lose_releases = false;
    world_.pass(100ms);  // The release is tried again meanwhile.
    let_go(other_);
    ASSERT_TRUE(world_.run_until([&] { return third_.done; }));
    if (!third_.code)
        let_go(third_);
}

TEST_F(ReleaseAndRequest, WhoCancelsIsToldOnceTheStoreHasAnswered) {
    line_->hold_releases = true;
    let_go(second_);
    signal_.emit(asio::cancellation_type::total);
    settle();
    EXPECT_FALSE(third_.done);
    line_->hold_releases = false;
    world_.pass(2ms);
    ASSERT_TRUE(third_.done);
    EXPECT_EQ(third_.code, asio::error::operation_aborted);
    EXPECT_TRUE(other_.held.held());
    let_go(other_);
}

TEST_F(ReleaseAndRequest, WithASessionThatIsLostMeanwhileOnlyTheRequestBeginsAnew) {
    line_->hold_releases = true;
    let_go(second_);
    world_.server.restart(false);
    ASSERT_TRUE(world_.run_until([&] { return alice_.stats().requests == 3; }))
        << "with a new session";
    line_->hold_releases = false;
    ASSERT_TRUE(world_.run_until([&] { return third_.done || other_.done; }));
    acquire_outcome& earlier = third_.done ? third_ : other_;
    acquire_outcome& later = third_.done ? other_ : third_;
    let_go(earlier);
    EXPECT_TRUE(later.held.held());
    let_go(later);
}

TEST_F(ReleaseAndRequest, AreBothToldWhenTheClientStops) {
    line_->hold_releases = true;
    let_go(second_);
    bool stopped = false;
    alice_.async_stop([&](error_code) { stopped = true; });
    settle();
    line_->hold_releases = false;
    ASSERT_TRUE(world_.run_until([&] { return stopped && third_.done && other_.done; }));
    EXPECT_EQ(third_.code, errc::client_stopped);
    let_go(other_);
}

}  // namespace
}  // namespace mortise::test
