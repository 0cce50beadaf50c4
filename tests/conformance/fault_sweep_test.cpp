// SPDX-License-Identifier: BSL-1.0
// Every public operation of a client, with the first message meanwhile lost, late or repeated, then
// the second, and so on, until a run is untouched.
#include "conformance/operation_sweep.hpp"

#include <chrono>
#include <memory>

namespace mortise::test {

void FaultSweep::close_after_fault(operation_scene& scene) {
    scene.let_go();
    const error_code stopped = scene.stop();
    EXPECT_TRUE(!stopped || stopped == errc::outcome_unknown) << stopped.message();
    scene.destroy_one();
    // Entries that could not be settled end with the session of `one`.
    const auto limit = std::max<clock::duration>(4 * ttl(), std::chrono::seconds(20));
    EXPECT_TRUE(h().residue_becomes(residue(), limit)) << residue() << ": " << h().left();
    EXPECT_TRUE(scene.all_free());
}

run_result FaultSweep::run_with(std::size_t nth, sim::fate how) {
    operation_scene scene(h(), other(), ttl());
    if (operation().prepare)
        operation().prepare(scene);
    h().spoil(nth, how);
    const auto run = std::make_shared<run_result>();
    operation().start(scene, asio::cancellation_slot(), [run](error_code code) {
        ++run->completions;
        run->code = code;
    });
    EXPECT_TRUE(scene.run_until([&] { return run->completions != 0; }))
        << "it does not end: " << h().left();
    // Work that a destructor has begun still goes on.
    h().pass(std::chrono::milliseconds(1));
    run->untouched = !h().spoiled();
    shown_again_ += scene.shown_again();
    h().spoil(0, sim::fate::as_usual);
    const bool harmless = h().messages_are_hints();
    if (harmless || run->untouched)
        judge(scene, run->code, false);
    // Later consequences of the fault are part of the sweep, too.
    if (!run->untouched)
        h().pass(harmless ? std::chrono::milliseconds(40) : h().aftermath());
    if (harmless)
        close(scene);
    else
        close_after_fault(scene);
    EXPECT_EQ(run->completions, 1);
    EXPECT_EQ(run.use_count(), 1) << "the handler was not destroyed";
    return *run;
}

bool FaultSweep::untouched_by(std::size_t nth, sim::fate how) {
    const std::size_t before = shown_again_;
    run_result run = run_with(nth, how);
    if (shown_again_ != before) {
        shown_again_ = before;
        run = run_with(nth, how);
    }
    return run.untouched;
}

namespace {

constexpr std::size_t messages_max = 500;
constexpr int attempts_max = 10;

TEST_P(FaultSweep, LeavesNothingBehindWhicheverMessageIsSpoilt) {
    h().spoil(0, sim::fate::as_usual);
    h().pass(std::chrono::milliseconds(1));  // until what spoils messages is in place
    const bool asks = operation().signal == cancelled::ends_the_question;
    const bool needs_messages = operation().needs_push || (asks && !h().messages_are_hints());
    int attempts = 1;
    std::size_t sweep = 0;
    for (const auto how : {sim::fate::lost, sim::fate::late, sim::fate::repeated}) {
        // A push may be the only message, and only what a client sends can be sent twice.
        const bool must_spoil = needs_messages && how != sim::fate::repeated;
        std::size_t nth = 0;
        for (;; nth = next_step(nth, sweep)) {
            ASSERT_LT(nth, messages_max) << "no run is untouched";
            bool untouched = untouched_by(nth, how);
            // A machine that stops this process for a TTL ends a session, whose opening ends a
            // watch: then there was no message but those of the opening.
            for (; untouched && nth == 0 && must_spoil && attempts < attempts_max; ++attempts)
                untouched = untouched_by(nth, how);
            ASSERT_FALSE(HasFailure()) << "message " << nth << ", fate " << static_cast<int>(how);
            if (untouched)
                break;
        }
        EXPECT_LE(shown_again_, 1u) << "changes are not told";
        if (must_spoil) {
            EXPECT_GE(nth, 1u) << "there was no message to spoil";
        }
        ++sweep;
    }
}

}  // namespace
}  // namespace mortise::test
