// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_SESSION_PROOF_HPP
#define MORTISE_STORE_ZOOKEEPER_SESSION_PROOF_HPP

#include "mortise/coro/clock.hpp"

#include <chrono>
#include <deque>
#include <optional>

namespace mortise::store_detail {

/// The time-out of a session at the servers whose leases have that TTL: that of two heartbeats and
/// a read more.
constexpr std::chrono::milliseconds
timeout_for(std::chrono::milliseconds ttl, std::chrono::milliseconds tick) noexcept {
    return ttl + ttl * 2 / 3 + 2 * tick;
}

/// The longest TTL for which a session with that time-out is long enough; it may be negative.
constexpr std::chrono::milliseconds
longest_ttl_in(std::chrono::milliseconds timeout, std::chrono::milliseconds tick) noexcept {
    return (timeout - 2 * tick) * 3 / 5;
}

/// Since when a session of ZooKeeper has surely had its whole time-out (docs/adr/0039.md).
///
/// The leader of the ensemble decides when a session ends, and hears of it by the server that the
/// client is connected to: with the answer to the leader's next ping, that one tells which sessions
/// have said something. A write that it passes on to the leader tells nothing of the session.
///
/// A packet is a *touch* once it is answered. A heartbeat, which is a write, *carries* the newest
/// touch that was answered more than `spacing` before its sending, or else what the heartbeat
/// before it carried. A heartbeat that is acknowledged proves that the leader has heard of what the
/// heartbeat before it carried.
///
/// So the proof of a heartbeat comes late by one of them: a session needs a longer time-out at the
/// servers than its leases last.
///
/// Proved by tests/models/zookeeper_lease.pml.
class session_proof {
public:
    /// @param spacing longer than the time between two pings of the leader to its followers.
    explicit session_proof(clock::duration spacing) noexcept : spacing_(spacing) {}

    /// A new connection is in use, which began to open after `since`. What was under way is lost.
    void connected(clock::time_point since);
    /// A packet has been answered. Heartbeats are noted by themselves.
    void touched(clock::time_point sent, clock::time_point answered);
    /// A heartbeat is sent; the one before has ended.
    void beat_sent(clock::time_point at);
    /// It is acknowledged. @return since when the session has had its whole time-out: the sending
    /// of the touch that the heartbeat before it carried, or, of the first, the time when the
    /// opening of the connection began.
    clock::time_point beat_acknowledged(clock::time_point at);

private:
    /// A packet that was answered, or a heartbeat that was acknowledged.
    struct touch {
        clock::time_point sent;
        clock::time_point answered;
    };

    clock::duration spacing_;
    /// In their order. Once a heartbeat is sent, the first of them is the newest that it may carry.
    std::deque<touch> touches_;
    clock::time_point sent_;            ///< Of the heartbeat under way.
    clock::time_point carried_;         ///< Of the touch that it carries.
    clock::time_point carried_before_;  ///< Of that which the one acknowledged last carried.
};

}  // namespace mortise::store_detail

#endif
