// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_LOCK_OBSERVER_HPP
#define MORTISE_LOCK_OBSERVER_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"

#include <cstdint>
#include <string_view>

namespace mortise {

/// Something that happened to a client or to one of its leases.
struct lock_event {
    enum class kind : std::uint8_t {
        waiting,           ///< An acquire has to wait.
        acquired,          ///< A lease was delivered, after `took`.
        refused,           ///< An acquire ended with `code`, after `took`.
        contended,         ///< Another client wants the lock that this one has.
        warned,            ///< The holder was told that the lease is about to be lost.
        lost,              ///< A lease was lost, because of `code`.
        released,          ///< A lease was released, in whatever way.
        release_failed,    ///< The store did not acknowledge a release in time, or had no grant.
        session_opened,    ///< Heartbeats begin.
        session_lost,      ///< Every lease is lost with it, because of `code`.
        heartbeat,         ///< A heartbeat was acknowledged, `took` after it was sent.
        heartbeat_failed,  ///< A heartbeat got `code` for an answer, or none.
    };

    kind type = kind::waiting;
    std::string_view name{};  ///< Of the lock; empty where there is none. Valid during the call.
    fencing_token token{};    ///< Of the lease; empty where there is none.
    error_code code{};
    clock::duration took{};
};

const char* to_string(lock_event::kind kind) noexcept;

/// Receives the events of a client, for logs, traces and tests.
///
/// @par Threads   Called on the thread where the event happens, several at a time if the client's
///                context has several: it must be thread-safe, must not block, and must not call
///                the client but for `stats`, `traits` and `explain`.
/// @par Lifetimes Not owned: it must outlive the client and its operations.
class lock_observer {
public:
    virtual void on_event(const lock_event& event) noexcept = 0;

protected:
    ~lock_observer() = default;
};

}  // namespace mortise

#endif
