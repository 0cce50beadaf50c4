// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_SESSION_PROOF_HPP
#define MORTISE_STORE_ZOOKEEPER_SESSION_PROOF_HPP

#include "mortise/coro/clock.hpp"

#include <chrono>
#include <deque>
#include <optional>

namespace mortise::store_detail {

/// Since when a session of ZooKeeper has surely had its whole time-out (docs/adr/0039.md).
///
/// A packet is a *touch* once it is answered. A heartbeat, which is a write, *carries* the newest
/// touch that was answered more than `spacing` before its sending, or else what the heartbeat
/// before it carried. A heartbeat that is acknowledged proves that the leader has heard of what the
/// heartbeat before it carried.
///
/// Proved by tests/models/zookeeper_lease.pml.
class session_proof {
public:
    /// @param spacing longer than the time between two pings of the leader to its followers.
    explicit session_proof(clock::duration spacing) noexcept : spacing_(spacing) {}

    /// A new connection is in use, which began to open after `since`. What was under way is lost.
    void connected(clock::time_point since);
    /// A packet has been answered.
    void touched(clock::time_point sent, clock::time_point answered);
    /// A heartbeat is sent; the one before has ended.
    void beat_sent(clock::time_point at);
    /// It is acknowledged. @return since when the session has had its whole time-out.
    clock::time_point beat_acknowledged(clock::time_point at);

private:
    struct touch {
        clock::time_point sent;
        clock::time_point answered;
    };

    clock::duration spacing_;
    std::deque<touch> touches_;  ///< The first is the newest that a heartbeat may carry, or older.
    clock::time_point sent_;     ///< The heartbeat under way.
    clock::time_point carried_;  ///< The touch that it carries.
    clock::time_point carried_before_;
};

}  // namespace mortise::store_detail

#endif
