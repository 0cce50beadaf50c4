// SPDX-License-Identifier: BSL-1.0
// Every public operation of a client, cancelled before the first handler, before the second, and so
// on, until a run ends untouched: by each type of cancellation, at each store.
#include "conformance/operation_sweep.hpp"
#include "support/print.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <iterator>
#include <memory>

namespace mortise::test {

run_result CancelSweep::run_cancelled_before(std::size_t step, asio::cancellation_type type) {
    operation_scene scene(h(), other(), ttl());
    if (operation().prepare)
        operation().prepare(scene);
    asio::cancellation_signal signal;
    const auto run = std::make_shared<run_result>();
    operation().start(scene, signal.slot(), [run](error_code code) {
        ++run->completions;
        run->code = code;
    });
    EXPECT_EQ(run->completions, 0) << "completed inside of the call";
    std::size_t handlers = 0;
    scene.run_until([&] { return run->completions != 0 || handlers++ >= step; });
    run->untouched = run->completions != 0;
    if (!run->untouched)
        signal.emit(type);
    EXPECT_TRUE(scene.run_until([&] { return run->completions != 0; })) << "it does not end";
    judge(scene, run->code, !run->untouched);
    close(scene);
    EXPECT_EQ(run->completions, 1);
    EXPECT_EQ(run.use_count(), 1) << "the handler was not destroyed";
    return *run;
}

namespace {

constexpr std::size_t steps_max = 2'000;

TEST_P(CancelSweep, LeavesNothingBehindAtWhateverStep) {
    const std::size_t sweeps = std::min(operation().signals, std::size(cancellation_types));
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
        const auto type = cancellation_types[sweep];
        std::size_t step = 0;
        std::size_t aborted = 0;
        const auto visit = [&](auto next) {
            for (step = 0;; step = next(step)) {
                ASSERT_LT(step, steps_max) << "no run is untouched";
                const run_result run = run_cancelled_before(step, type);
                ASSERT_FALSE(HasFailure())
                    << "cancelled before handler " << step << " by type " << static_cast<int>(type);
                aborted += run.code == asio::error::operation_aborted;
                if (run.untouched)
                    break;
            }
        };
        visit([&](std::size_t at) { return next_step(at, sweep); });
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_GE(step, 1u) << "the sweep must have cancelled something";
        const bool must_abort =
            operation().signal == cancelled::ends_the_wait ||
            (operation().signal == cancelled::ends_the_question && !h().answers_at_once());
        // The steps that were left out may be the only ones that matter: visits them all.
        if (must_abort && aborted == 0)
            visit([](std::size_t at) { return at + 1; });
        ASSERT_FALSE(HasFatalFailure());
        if (must_abort) {
            EXPECT_GE(aborted, 1u) << "no signal had an effect";
        }
    }
}

}  // namespace
}  // namespace mortise::test
