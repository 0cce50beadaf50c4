// SPDX-License-Identifier: BSL-1.0
// A lease whose end is set anew while it is held.
#include "mortise/coro/sleep.hpp"
#include "mortise/with_lock.hpp"
#include "unit/client/client_world.hpp"
#include "unit/client/edited_store.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// A client that holds "door" for two seconds.
class Extend : public testing::Test {
protected:
    Extend() {
        lock_options brief;
        brief.hold_max = 2s;
        brief.owner = owner_;
        held_ = acquire(brief);
    }
    ~Extend() override { world_.stop(alice_); }

    lease acquire(const lock_options& options) {
        acquire_outcome outcome;
        alice_.async_acquire("door", options, client_world::record(outcome));
        EXPECT_TRUE(world_.run_until([&] { return outcome.done; }));
        EXPECT_FALSE(outcome.code) << outcome.code.message();
        return std::move(outcome.held);
    }

    using result_code = std::optional<error_code>;

    void extend(const lease& of, milliseconds hold_max, result_code& into) {
        const auto record = [&into](error_code code) {
            EXPECT_FALSE(into) << "completed twice";
            into = code;
        };
        of.async_extend(hold_max, asio::bind_executor(world_.context, record));
    }
    error_code extended(const lease& of, milliseconds hold_max) {
        result_code done;
        extend(of, hold_max, done);
        EXPECT_TRUE(world_.run_until([&] { return done.has_value(); }));
        return done.value_or(errc::outcome_unknown);
    }
    error_code extended(milliseconds hold_max) { return extended(held_, hold_max); }

    void settle() { world_.pass(3ms); }

    /// Expects that the lease ends so long from now, but for drift and the time on the way.
    void expect_end(milliseconds from_now) { expect_end(held_, from_now); }
    void expect_end(const lease& of, milliseconds from_now) {
        const auto left = of.valid_until() - world_.time->now();
        EXPECT_LE(left, from_now - from_now / 100);
        EXPECT_GT(left, from_now - from_now / 100 - 10ms);
    }
    /// Lets the client see what the store has.
    void look() {
        store_event event;
        event.type = store_event::kind::look_again;
        line_->events->on_store_event(event);
        settle();
    }

    client_world world_;
    const std::shared_ptr<edited_line> line_ = std::make_shared<edited_line>();
    lock_client alice_ =
        world_.client(std::make_unique<edited_store>(world_.server.make_store(), line_));
    lock_client bob_ = world_.client();
    const owner_id owner_ = owner_id::draw();
    lease held_;
};

TEST_F(Extend, SetsTheEndFromNow) {
    world_.pass(1s);
    EXPECT_FALSE(extended(2s));
    expect_end(2s);
    EXPECT_FALSE(extended(1s));
    expect_end(1s);
    world_.pass(900ms);
    EXPECT_TRUE(held_.held());
    world_.pass(100ms);
    EXPECT_EQ(held_.check(), errc::lease_expired);
    EXPECT_TRUE(world_.run_until([&] { return world_.server.entries() == 0; }));
}

TEST_F(Extend, TakesTheEndAwayAndSetsItAgain) {
    EXPECT_FALSE(extended(milliseconds::max()));
    world_.pass(10s);
    EXPECT_TRUE(held_.held()) << "as long as heartbeats keep it";
    EXPECT_FALSE(extended(500ms));
    expect_end(500ms);
    world_.pass(500ms);
    EXPECT_EQ(held_.check(), errc::lease_expired);
}

TEST_F(Extend, TellsTheHolderBeforeTheNewEndOnly) {
    result_code warned;
    clock::time_point warned_at;
    held_.async_wait_lost([&](error_code why) {
        warned = why;
        warned_at = world_.time->now();
    });
    EXPECT_FALSE(extended(4s));
    const auto end = world_.time->now() + 3960ms;
    world_.pass(3s);
    EXPECT_FALSE(warned) << "not at the first end";
    ASSERT_TRUE(world_.run_until([&] { return warned.has_value(); }));
    EXPECT_EQ(*warned, errc::lease_expired);
    EXPECT_LT(warned_at, end);
}

TEST_F(Extend, IsTrustedOnlyOnceTheStoreHasAnswered) {
    line_->hold_answers = true;
    result_code later;
    extend(held_, 10s, later);
    expect_end(2s);
    world_.pass(1s);
    EXPECT_FALSE(later);
    EXPECT_LE(held_.valid_until() - world_.time->now(), 980ms);
    line_->hold_answers = false;
    settle();
    EXPECT_EQ(later, error_code());
    EXPECT_GT(held_.valid_until() - world_.time->now(), 2s);
}

TEST_F(Extend, ShortensAtOnce) {
    line_->hold_extensions = true;
    result_code sooner;
    extend(held_, 500ms, sooner);
    settle();
    expect_end(497ms);
    world_.pass(500ms);
    EXPECT_EQ(held_.check(), errc::lease_expired);
    line_->hold_extensions = false;
    settle();
    EXPECT_EQ(sooner, error_code(errc::lease_expired));
}

TEST_F(Extend, WithoutAnAnswerTheEarlierEndCounts) {
    line_->lose_extensions = true;
    EXPECT_EQ(extended(10s), errc::outcome_unknown);
    expect_end(2s);
    EXPECT_EQ(extended(1s), errc::outcome_unknown);
    expect_end(1s);
    line_->lose_extensions = false;
    EXPECT_FALSE(extended(2s));
    expect_end(2s);
}

TEST_F(Extend, ALaterCallMayHaveShortenedWhatAnEarlierOneHasExtended) {
    line_->hold_answers = true;
    result_code longer;
    extend(held_, 1h, longer);
    settle();
    line_->lose_extensions = true;
    result_code sooner;
    extend(held_, 500ms, sooner);
    settle();
    line_->hold_answers = false;
    ASSERT_TRUE(world_.run_until([&] { return longer && sooner; }));
    EXPECT_FALSE(*longer);
    EXPECT_EQ(*sooner, errc::outcome_unknown);
    EXPECT_LT(held_.valid_until() - world_.time->now(), 500ms);
}

// As by a timer, at a store that is slower than it.
TEST_F(Extend, CallsThatOverlapKeepTheLease) {
    std::vector<std::unique_ptr<result_code>> all;
    for (int i = 0; i < 20; ++i) {
        line_->hold_answers = true;
        all.push_back(std::make_unique<result_code>());
        extend(held_, 1s, *all.back());
        world_.pass(300ms);
        line_->hold_answers = i % 2 == 0;
        settle();
    }
    EXPECT_TRUE(held_.held());
    line_->hold_answers = false;
    settle();
    for (const auto& each : all)
        EXPECT_EQ(*each, error_code());
}

TEST_F(Extend, DoesNotBringBackWhatHasEnded) {
    world_.pass(1500ms);
    line_->hold_answers = true;
    result_code done;
    extend(held_, 1h, done);
    world_.pass(100ms);
    line_->hold_answers = false;
    world_.time->advance(1s);  // The process stands still.
    EXPECT_EQ(held_.check(), errc::lease_expired);
    ASSERT_TRUE(world_.run_until([&] { return done.has_value(); }));
    EXPECT_EQ(*done, errc::lease_expired);
    EXPECT_EQ(held_.state(), lease_state::lost);
    EXPECT_TRUE(world_.run_until([&] { return world_.server.entries() == 0; }));
}

TEST_F(Extend, AStoreThatDidNothingChangesNothing) {
    line_->fail_extensions = errc::database_busy;
    EXPECT_EQ(extended(500ms), errc::store_unavailable);
    expect_end(2s);
    line_->fail_extensions = {};
    EXPECT_FALSE(extended(500ms));
}

TEST_F(Extend, AStoreThatHasForgottenItIsBelieved) {
    EXPECT_FALSE(extended(1h));
    EXPECT_FALSE(extended(30s));
    look();
    EXPECT_GT(held_.valid_until() - world_.time->now(), 2s) << "it has forgotten nothing";
    line_->edit_look = [](session_view& view) { view.entries.at(0).hold_max = 2s; };
    look();
    EXPECT_LT(held_.valid_until() - world_.time->now(), 2s);
    line_->edit_look = nullptr;
    EXPECT_FALSE(extended(2500ms));
    expect_end(2500ms);
    EXPECT_EQ(line_->extensions, 3u);
}

TEST_F(Extend, ALookThatWasSentBeforeItSaysNothing) {
    line_->edit_look = [](session_view& view) { view.entries.at(0).hold_max = 2s; };
    line_->hold_looks = true;
    look();
    EXPECT_FALSE(extended(10s));
    line_->hold_looks = false;
    settle();
    EXPECT_GT(held_.valid_until() - world_.time->now(), 2s);
}

TEST_F(Extend, FindsOutThatTheGrantIsGone) {
    line_->hold_events = true;  // Nobody says so.
    bool broken = false;
    bob_.async_break_holders("door", "a test", [&](error_code, bool was) { broken = was; });
    ASSERT_TRUE(world_.run_until([&] { return broken; }));
    result_code warned;
    held_.async_wait_lost([&](error_code why) { warned = why; });
    EXPECT_TRUE(held_.held());
    EXPECT_EQ(extended(10s), errc::lease_lost);
    EXPECT_EQ(held_.check(), errc::lease_lost);
    settle();
    EXPECT_EQ(warned, error_code(errc::lease_lost));
    EXPECT_EQ(alice_.stats().lost, 1u);
}

TEST_F(Extend, OfALeaseThatIsReleasedMeanwhileSaysSo) {
    line_->hold_extensions = true;
    result_code done;
    extend(held_, 10s, done);
    settle();
    held_ = lease();
    line_->hold_extensions = false;
    ASSERT_TRUE(world_.run_until([&] { return done.has_value(); }));
    EXPECT_EQ(*done, errc::lease_released);
    EXPECT_EQ(alice_.stats().lost, 0u);
    EXPECT_EQ(extended(10s), errc::lease_released);
}

TEST_F(Extend, OfAClientThatHasStoppedSaysSo) {
    world_.stop(alice_);
    EXPECT_EQ(extended(10s), errc::client_stopped);
}

TEST_F(Extend, RefusesTimesThatNoLockCanHave) {
    EXPECT_EQ(extended(0ms), errc::bad_config);
    EXPECT_EQ(extended(-1ms), errc::duration_negative);
    EXPECT_EQ(extended(duration_max + 1ms), errc::duration_too_long);
    expect_end(2s);
}

TEST_F(Extend, NeedsAHoldMaxAndAStoreThatCan) {
    held_ = lease();
    settle();
    const lease endless = acquire(lock_options());
    EXPECT_EQ(extended(endless, 10s), errc::unsupported);
    EXPECT_TRUE(endless.held());
    line_->edit_traits = [](store_traits& traits) { traits.extend = false; };
    lock_client carol =
        world_.client(std::make_unique<edited_store>(world_.server.make_store(), line_));
    lock_options brief;
    brief.hold_max = 2s;
    acquire_outcome other;
    carol.async_acquire("gate", brief, client_world::record(other));
    ASSERT_TRUE(world_.run_until([&] { return other.done; }));
    EXPECT_EQ(extended(other.held, 10s), errc::unsupported);
    world_.stop(carol);
}

TEST_F(Extend, AReentrantLeaseHasAnEndOfItsOwn) {
    lock_options again;
    again.owner = owner_;
    again.hold_max = 500ms;
    const lease inner = acquire(again);
    const auto sent = line_->extensions;
    EXPECT_FALSE(extended(inner, 1s));
    EXPECT_EQ(inner.valid_until() - world_.time->now(), 1s);
    expect_end(2s);
    world_.pass(900ms);
    EXPECT_TRUE(inner.held());
    EXPECT_FALSE(extended(inner, 1h));
    EXPECT_EQ(inner.valid_until(), held_.valid_until()) << "it lies in the outer one";
    EXPECT_FALSE(extended(inner, milliseconds::max()));
    EXPECT_EQ(line_->extensions, sent) << "the store knows only the outer one";
    EXPECT_FALSE(extended(inner, 100ms));
    world_.pass(101ms);
    EXPECT_EQ(inner.check(), errc::lease_expired);
    EXPECT_TRUE(held_.held());
    EXPECT_FALSE(extended(10s));
    EXPECT_EQ(line_->extensions, sent + 1);
}

TEST_F(Extend, MayBeCalledFromTheWorkUnderTheLock) {
    held_ = lease();
    settle();
    bool done = false;
    const auto extend_five_times = [&](const lease& held) -> asio::awaitable<void> {
        for (int i = 0; i < 5; ++i) {
            co_await coro::sleep_for(*world_.time, 1s);
            co_await held.async_extend(2s);
        }
        done = held.held();
    };
    lock_options brief;
    brief.hold_max = 2s;
    asio::co_spawn(
        world_.context,
        with_lock(alice_, "door", brief, extend_five_times),
        [](std::exception_ptr failed) { EXPECT_FALSE(failed); }
    );
    EXPECT_TRUE(world_.run_until([&] { return done; }));
}

}  // namespace
}  // namespace mortise::test
