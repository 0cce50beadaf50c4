// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_PORT_CONFORMANCE_HPP
#define MORTISE_TESTS_CONFORMANCE_PORT_CONFORMANCE_HPP

#include "conformance/operation_sweep.hpp"
#include "conformance/peer.hpp"
#include "conformance/store_harness.hpp"
#include "conformance/threaded_world.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mortise::test {

/// A suite that runs at stores: one harness for each of its tests.
class StoreSuite : public testing::TestWithParam<harness_factory> {
public:
    /// Whether a store can have the suite. Where it cannot, the suite is not instantiated.
    static bool fits(const store_abilities&) { return true; }

protected:
    StoreSuite() : harness_(GetParam()()) {}

    store_harness& h() { return *harness_; }

private:
    std::unique_ptr<store_harness> harness_;
};

/// Tests of what every store promises at its port, in the words of `store.hpp`.
class StorePort : public StoreSuite {};

/// Tests of what every store promises to the users of a `lock_client`.
class LockConformance : public StoreSuite {};

/// A part of a suite, for stores for which the condition holds; `of` has their abilities.
#define MORTISE_PART(Part, Suite, condition)                                                       \
    class Part : public Suite {                                                                    \
    public:                                                                                        \
        static bool fits(const store_abilities& of) { return condition; }                          \
    };

MORTISE_PART(StorePortDeath, StorePort, of.sees_death)
MORTISE_PART(StorePortExclusive, StorePort, !of.traits.shared)
MORTISE_PART(StorePortFair, StorePort, of.traits.fair)
MORTISE_PART(StorePortHoldMax, StorePort, of.traits.hold_max)
MORTISE_PART(StorePortExtend, StorePort, of.traits.extend)
MORTISE_PART(StorePortLostReply, StorePort, of.loses_replies)
MORTISE_PART(StorePortLongTtl, StorePort, of.simulates_time&& of.traits.sessions)
MORTISE_PART(StorePortModes, StorePort, of.traits.shared&& of.traits.permits)
MORTISE_PART(StorePortPermits, StorePort, of.traits.permits)
MORTISE_PART(StorePortPush, StorePort, of.traits.push)
MORTISE_PART(StorePortRecords, StorePort, of.traits.records)
MORTISE_PART(StorePortSessions, StorePort, of.traits.sessions)
MORTISE_PART(StorePortShared, StorePort, of.traits.shared)
MORTISE_PART(StorePortWaiters, StorePort, of.traits.sessions&& of.traits.waiters)
MORTISE_PART(LockConformanceBreaks, LockConformance, of.traits.records&& of.traits.permits)
MORTISE_PART(LockConformanceFair, LockConformance, of.traits.fair)
MORTISE_PART(LockConformanceHoldMax, LockConformance, of.traits.hold_max)
MORTISE_PART(LockConformanceExtend, LockConformance, of.traits.extend)
MORTISE_PART(LockConformanceNoRecords, LockConformance, !of.traits.records)
MORTISE_PART(LockConformancePermits, LockConformance, of.traits.permits)
MORTISE_PART(LockConformanceRecords, LockConformance, of.traits.records)
MORTISE_PART(LockConformanceRestart, LockConformance, of.restarts&& of.traits.quarantine)
MORTISE_PART(LockConformanceSessions, LockConformance, of.traits.sessions&& of.traits.waiters)
MORTISE_PART(LockConformanceShared, LockConformance, of.traits.shared)
MORTISE_PART(LockConformanceSilence, LockConformance, of.silences)
#undef MORTISE_PART

/// Tests in which a push to a peer is lost.
class StorePortLostPush : public StorePort {
public:
    static bool fits(const store_abilities& of) { return of.loses_pushes && of.traits.push; }

protected:
    StorePortLostPush() { h().lose_pushes(0); }
};

class StorePortLostChange : public StorePortLostPush {
public:
    static bool fits(const store_abilities& of) { return of.loses_pushes && of.traits.records; }
};

/// Random wishes, which a store answers as the lock engine does. Each walk makes a harness.
class StoreRules : public testing::TestWithParam<harness_factory> {
public:
    static bool fits(const store_abilities& of) {
        const auto& traits = of.traits;
        return traits.fair && traits.push && traits.sessions && traits.shared && traits.permits;
    }
};

/// Clients, leases and what is built on them, used from four threads.
class LockThreads : public testing::TestWithParam<harness_factory> {
public:
    static bool fits(const store_abilities& of) { return of.lives_anywhere; }

protected:
    threaded_world world{GetParam()};
};

class LockThreadsModes : public LockThreads {
public:
    static bool fits(const store_abilities& of) {
        return of.lives_anywhere && of.traits.shared && of.traits.permits;
    }
};

/// Ends on four threads.
class LockThreadsEnd : public LockThreads {};

/// Contexts that end with clients in them.
class ContextEnd : public StoreSuite {
public:
    static bool fits(const store_abilities& of) { return of.lives_anywhere; }
};

/// The harness for a suite that the store can have; else none.
template <class Suite, class Harness>
std::vector<harness_factory> harnesses_for() {
    if (Suite::fits(Harness::abilities()))
        return {&make_harness<Harness>};
    return {};
}

}  // namespace mortise::test

/// One suite at a store that may have it.
#define MORTISE_SUITE(Name, Suite, Harness)                                                        \
    INSTANTIATE_TEST_SUITE_P(Name, Suite, testing::ValuesIn(harnesses_for<Suite, Harness>()));

/// One sweep of all operations at a store that may have it.
#define MORTISE_SWEEP(Name, Sweep, Harness)                                                        \
    INSTANTIATE_TEST_SUITE_P(                                                                      \
        Name,                                                                                      \
        Sweep,                                                                                     \
        testing::Combine(                                                                          \
            testing::ValuesIn(harnesses_for<Sweep, Harness>()),                                    \
            testing::ValuesIn(operations_at(Harness::abilities(), Sweep::chosen()))                \
        ),                                                                                         \
        name_of_operation                                                                          \
    );

/// All suites at the port that a store may have, for use inside of `mortise::test`.
#define MORTISE_PORT_SUITES(Name, Harness)                                                         \
    MORTISE_SUITE(Name, StorePort, Harness)                                                        \
    MORTISE_SUITE(Name, StorePortDeath, Harness)                                                   \
    MORTISE_SUITE(Name, StorePortExclusive, Harness)                                               \
    MORTISE_SUITE(Name, StorePortFair, Harness)                                                    \
    MORTISE_SUITE(Name, StorePortHoldMax, Harness)                                                 \
    MORTISE_SUITE(Name, StorePortExtend, Harness)                                                  \
    MORTISE_SUITE(Name, StorePortLongTtl, Harness)                                                 \
    MORTISE_SUITE(Name, StorePortLostChange, Harness)                                              \
    MORTISE_SUITE(Name, StorePortLostPush, Harness)                                                \
    MORTISE_SUITE(Name, StorePortLostReply, Harness)                                               \
    MORTISE_SUITE(Name, StorePortModes, Harness)                                                   \
    MORTISE_SUITE(Name, StorePortPermits, Harness)                                                 \
    MORTISE_SUITE(Name, StorePortPush, Harness)                                                    \
    MORTISE_SUITE(Name, StorePortRecords, Harness)                                                 \
    MORTISE_SUITE(Name, StorePortSessions, Harness)                                                \
    MORTISE_SUITE(Name, StorePortShared, Harness)                                                  \
    MORTISE_SUITE(Name, StorePortWaiters, Harness)                                                 \
    MORTISE_SUITE(Name, StoreRules, Harness)

/// Those in which clients live on threads and in contexts of the test.
#define MORTISE_THREAD_SUITES(Name, Harness)                                                       \
    MORTISE_SUITE(Name, ContextEnd, Harness)                                                       \
    MORTISE_SUITE(Name, LockThreads, Harness)                                                      \
    MORTISE_SUITE(Name, LockThreadsEnd, Harness)                                                   \
    MORTISE_SUITE(Name, LockThreadsModes, Harness)

/// The same through the client.
#define MORTISE_CLIENT_SUITES(Name, Harness)                                                       \
    MORTISE_SUITE(Name, LockConformance, Harness)                                                  \
    MORTISE_SUITE(Name, LockConformanceBreaks, Harness)                                            \
    MORTISE_SUITE(Name, LockConformanceFair, Harness)                                              \
    MORTISE_SUITE(Name, LockConformanceHoldMax, Harness)                                           \
    MORTISE_SUITE(Name, LockConformanceExtend, Harness)                                            \
    MORTISE_SUITE(Name, LockConformanceNoRecords, Harness)                                         \
    MORTISE_SUITE(Name, LockConformancePermits, Harness)                                           \
    MORTISE_SUITE(Name, LockConformanceRecords, Harness)                                           \
    MORTISE_SUITE(Name, LockConformanceRestart, Harness)                                           \
    MORTISE_SUITE(Name, LockConformanceSessions, Harness)                                          \
    MORTISE_SUITE(Name, LockConformanceShared, Harness)                                            \
    MORTISE_SUITE(Name, LockConformanceSilence, Harness)                                           \
    MORTISE_THREAD_SUITES(Name, Harness)                                                           \
    MORTISE_SWEEP(Name, CancelSweep, Harness)                                                      \
    MORTISE_SWEEP(Name, FaultSweep, Harness)

#define MORTISE_ALL_SUITES(Name, Harness)                                                          \
    MORTISE_PORT_SUITES(Name, Harness)                                                             \
    MORTISE_CLIENT_SUITES(Name, Harness)

/// Runs all of them at a store that users can choose: the one line that a store needs.
#define MORTISE_LOCK_CONFORMANCE(Name, Harness)                                                    \
    namespace mortise::test {                                                                      \
    MORTISE_ALL_SUITES(Name, Harness)                                                              \
    }

#endif
