// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_OPERATION_SWEEP_HPP
#define MORTISE_TESTS_CONFORMANCE_OPERATION_SWEEP_HPP

#include "conformance/store_harness.hpp"
#include "conformance/swept_operation.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace mortise::test {

/// One operation at one store, run again and again.
class OperationSweep : public testing::TestWithParam<std::tuple<harness_factory, swept_operation>> {
public:
    ~OperationSweep() override;

protected:
    /// Whether a sweep waits for the end of a session, so that its TTL must be short.
    enum class sessions : bool { outlive_delays, end_soon };

    explicit OperationSweep(sessions live);

    const swept_operation& operation() const { return std::get<1>(GetParam()); }
    store_harness& h() { return *harness_; }
    lock_client& other() { return *other_; }
    /// The TTL of the client whose operation is swept.
    std::chrono::milliseconds ttl() const { return ttl_; }
    /// How much the other client alone leaves at the store.
    std::size_t residue() const { return residue_; }
    /// The step after `step` in sweep number `sweep` of several. Where steps are dear, `./run test`
    /// takes the first one and every eighth of the others, different ones in each sweep;
    /// `./run proof` takes all.
    std::size_t next_step(std::size_t step, std::size_t sweep);

    /// Checks after the end of the operation that it did what it promises, and that nothing else is
    /// there.
    void judge(operation_scene& scene, error_code result, bool signalled);
    /// Ends the scene, and checks that nothing is left.
    void close(operation_scene& scene);

private:
    /// Lets `other_` hold a lock, now and until it stops.
    void be_present(const std::string& name);
    /// Waits until it holds all of those, and says whether it does.
    bool is_present();
    /// Whether the machine was so slow that a server's answers or a heartbeat may have come too
    /// late.
    bool slow() const;

    const machine_delay delay_;
    std::unique_ptr<store_harness> harness_;
    std::unique_ptr<lock_client> other_;
    std::chrono::milliseconds ttl_{};
    std::map<std::string, lease> presence_;  ///< Keeps the sessions of `other_` at all servers.
    std::size_t residue_ = 0;
};

/// The outcome of one run.
struct run_result {
    int completions = 0;
    error_code code;
    bool untouched = false;
};

/// Sweeps with a cancellation at one step of each run.
class CancelSweep : public OperationSweep {
public:
    static bool fits(const store_abilities&) { return true; }
    /// The operations that stand for all others.
    static std::set<std::string> chosen() {
        return {
            "Acquire",
            "AcquireOfATakenLock",
            "AcquireInVain",
            "AcquireTheLastPermit",
            "AcquireAllOfThemTaken",
            "Try",
            "Release",
            "HandOver",
            "WaitForTheLoss",
            "WaitForAChange",
            "Stop",
            "List"};
    }

protected:
    CancelSweep() : OperationSweep(sessions::outlive_delays) {}

    /// @return the outcome of the run, which is judged and put away.
    run_result run_cancelled_before(std::size_t step, asio::cancellation_type type);
};

/// Sweeps with one message of each run lost, late or repeated.
class FaultSweep : public OperationSweep {
public:
    static bool fits(const store_abilities& of) { return of.spoils; }
    static std::set<std::string> chosen() {
        return {"Acquire", "AcquireOfATakenLock", "Release", "HandOver", "WaitForAChange", "Stop"};
    }

protected:
    FaultSweep() : OperationSweep(sessions::end_soon) {}

    /// @return as above; untouched if there were fewer messages.
    run_result run_with(std::size_t nth, sim::fate how);
    /// The same, and once more if a change had to be shown again: the machine may have been slow,
    /// and what happens twice is no chance. @return whether it was untouched.
    bool untouched_by(std::size_t nth, sim::fate how);
    /// Ends a scene in which an answer may be lost: entries that stay are withdrawn in the end, and
    /// locks work.
    void close_after_fault(operation_scene& scene);

    std::size_t shown_again_ = 0;
};

/// "Acquire", "WithLock", ...
inline std::string name_of_operation(const testing::TestParamInfo<OperationSweep::ParamType>& of) {
    return std::get<1>(of.param).name;
}

}  // namespace mortise::test

#endif
