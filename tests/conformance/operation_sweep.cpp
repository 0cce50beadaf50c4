// SPDX-License-Identifier: BSL-1.0
#include "conformance/operation_sweep.hpp"

#include "conformance/client_fixture.hpp"
#include "support/amount.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace mortise::test {

namespace {

constexpr int ttls_of_patience = 10;
constexpr auto sweep_patience = std::chrono::seconds(20);

}  // namespace

// In real time, a busy machine stops this process for as long as a short TTL lasts. Without pushes
// the client whose operation is swept has a short one all the same, since it learns of changes with
// its heartbeats.
OperationSweep::OperationSweep(sessions live) : harness_(std::get<0>(GetParam())()) {
    client_config config = config_of(*harness_);
    config.ttl = harness_->short_ttl();
    ttl_ = config.ttl;
    if (live == sessions::outlive_delays && !harness_->simulates_time()) {
        config.ttl *= ttls_of_patience;
        if (harness_->make_store()->traits().push)
            ttl_ = config.ttl;
        config.release_budget = sweep_patience;  // nobody else would clean up after this client
    }
    other_ = std::make_unique<lock_client>(
        harness_->executor(), harness_->make_store(), std::move(config)
    );
    for (const std::string& name : harness_->names_at_servers())
        be_present(name);
    EXPECT_TRUE(is_present());
    residue_ = harness_->residue();
}

OperationSweep::~OperationSweep() {
    if (slow()) {
        EXPECT_TRUE(harness_->residue_becomes(residue_, 4 * ttl_)) << harness_->left();
    }
    EXPECT_TRUE(is_present());
    bool done = false;
    other_->async_stop([&](error_code code) {
        EXPECT_FALSE(code) << code.message();
        done = true;
    });
    EXPECT_TRUE(harness_->run_until([&] { return done; }, sweep_patience));
    EXPECT_EQ(harness_->residue(), 0u) << harness_->left();
}

// A machine that stops this process for a TTL takes the lease away: `other` takes another one.
void OperationSweep::be_present(const std::string& name) {
    presence_[name] = lease();
    other_->async_acquire(name, lock_options(), [this, name](error_code code, lease held) {
        if (code == errc::client_stopped)
            return;
        EXPECT_TRUE(!code || code == errc::outcome_unknown) << code.message();
        if (code)
            return be_present(name);
        held.async_wait_lost([this, name](error_code why) {
            if (why == errc::lease_lost || why == errc::lease_expired)
                be_present(name);
        });
        presence_[name] = std::move(held);
    });
}

bool OperationSweep::is_present() {
    const auto all = [this] {
        const auto holds = [](const auto& each) { return each.second.held(); };
        return std::all_of(presence_.begin(), presence_.end(), holds);
    };
    return harness_->run_until(all, sweep_patience);
}

bool OperationSweep::slow() const {
    return std::max(harness_->lateness(delay_), harness_->longest_pause()) > ttl_ / 8;
}

std::size_t OperationSweep::next_step(std::size_t step, std::size_t sweep) {
    if (h().steps_are_cheap())
        return step + 1;
    const std::size_t stride = amount("MORTISE_SWEEP_STRIDE", 8, 1) * h().cost_of_a_step();
    return step == 0 ? 1 + sweep % stride : step + stride;
}

void OperationSweep::judge(operation_scene& scene, error_code result, bool signalled) {
    const bool aborted = result == asio::error::operation_aborted;
    if (slow() && result != operation().result && h().is_by_delay(result))
        return;
    if (aborted) {
        EXPECT_TRUE(signalled) << "who cancelled it?";
        EXPECT_TRUE(
            operation().signal == cancelled::ends_the_wait ||
            operation().signal == cancelled::ends_the_question
        );
    } else {
        EXPECT_EQ(result, operation().result) << result.message();
    }
    const bool got = !result && operation().gets;
    EXPECT_EQ(scene.got_something(), got);
    EXPECT_TRUE(scene.surely_held() || slow());
    EXPECT_EQ(scene.one().stats().waiting, 0u);
    if (!got) {
        EXPECT_EQ(scene.at_store(), 0u) << "what it did not get is not there";
    }
}

void OperationSweep::close(operation_scene& scene) {
    EXPECT_TRUE(scene.let_go());
    EXPECT_TRUE(scene.run_until([&] { return scene.one().stats().leases == 0; }));
    const error_code stopped = scene.stop();
    // A slow machine may have stopped this process for a TTL, or the server for as long as a store
    // waits for an answer: then a session is over, or was never heard of, and nobody knows what its
    // last messages did. What they left ends with the TTL, and goes with a heartbeat of others.
    if (stopped == errc::outcome_unknown && slow()) {
        scene.destroy_one();
        EXPECT_TRUE(h().residue_becomes(residue_, 4 * ttl_));
        return;
    }
    EXPECT_FALSE(stopped) << stopped.message() << ": " << scene.one().explain();
    EXPECT_TRUE(scene.all_free());
    scene.destroy_one();
    if (slow()) {
        EXPECT_TRUE(h().residue_becomes(residue_, 4 * ttl_));
    }
    EXPECT_EQ(h().residue(), residue_) << h().left();
}

}  // namespace mortise::test
