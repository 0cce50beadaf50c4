// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_CLIENT_SESSION_HPP
#define MORTISE_CLIENT_CLIENT_SESSION_HPP

#include "client/claims.hpp"
#include "client/client_context.hpp"
#include "client/hold_ends.hpp"
#include "client/reconciler.hpp"
#include "client/releases.hpp"
#include "client/session_keeper.hpp"
#include "client/session_watch.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

namespace mortise::detail {

/// The session of one proof number, with all that is lost with it.
///
/// | part | owns |
/// | --- | --- |
/// | `keeper` | its opening, its heartbeats, its end |
/// | `claims` | the requests that were asked under it and the grants that it keeps, by their ids |
/// | `releases` | the grants on their way back to the store |
/// | `ends` | when grants end by themselves |
/// | `looks` | the comparison of claims with what the store has |
///
/// @par Threads The strand.
class client_session {
public:
    client_session(client_core& core, client_context& context, proof_number proof)
        : number(proof),
          keeper(*this, core, context),
          claims(*this, core, context),
          releases(*this, core, context),
          ends(*this, core, context),
          looks(*this, core, context) {}

    const proof_number number;
    /// What leases and waiters read of it.
    const std::shared_ptr<session_watch> watch = std::make_shared<session_watch>();
    session_keeper keeper;
    detail::claims claims;
    detail::releases releases;
    hold_ends ends;
    reconciler looks;
};

/// The sessions of a client: one for each proof number that was needed so far. A client of a store
/// at one server has one.
///
/// @par Threads The strand, except for the members marked "Any thread".
class client_sessions final : client_part {
public:
    using by_number = std::map<proof_number, std::unique_ptr<client_session>>;

    client_sessions(client_core& core, client_context& context) noexcept
        : client_part(core, context) {}

    /// The session of that number, which is made at the first call; it stays for ever.
    client_session& at(proof_number number);
    /// The session that has the claim, or will ask for it.
    client_session& of(claim& claim);
    /// The session that has a claim with a request of that id; null if there is none.
    client_session* owner_of(request_id id) const;
    const by_number& all() const noexcept { return by_number_; }
    /// Whether the store may have any of them.
    bool may_exist() const noexcept;
    /// The earliest moment of an alarm or a heartbeat.
    clock::time_point next_deadline() const;

    // Requests are numbered over all sessions, so that a push finds its claim wherever it is kept.
    request_id next_id() noexcept { return ++last_id_; }
    request_id last_id() const noexcept { return last_id_; }
    std::uint64_t next_order() noexcept { return ++last_order_; }

    // Any thread.
    /// The state of the session that asks for this lock; null if there is none yet.
    std::shared_ptr<const session_watch> watch_of(std::string_view name) const;
    /// How long one of the servers grants nothing because it may have forgotten something.
    clock::duration quarantine_left() const;

private:
    mutable std::mutex mutex_;  ///< Held to change the map, and by other threads to read it.
    by_number by_number_;
    request_id last_id_ = 0;
    std::uint64_t last_order_ = 0;
};

}  // namespace mortise::detail

#endif
