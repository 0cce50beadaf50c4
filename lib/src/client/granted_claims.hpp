// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_GRANTED_CLAIMS_HPP
#define MORTISE_CLIENT_GRANTED_CLAIMS_HPP

#include "client/claim.hpp"
#include "client/held_grant.hpp"
#include "client/local_waiter.hpp"
#include "client/session_watch.hpp"
#include "mortise/owner_id.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mortise::detail {

/// The settings that all queues of a client share.
struct queue_rules {
    std::shared_ptr<const client_home> home;
    std::uint32_t turn_handoffs_max = 0;
    clock::duration turn_time_max{};
    bool local_handoff = true;
    std::size_t holds_max = 1;  ///< Leases of one owner.
    clock::duration stop_margin{};
};

bool ends_by_itself(const local_waiter& waiter) noexcept;
bool reads(const local_waiter& waiter) noexcept;
/// Whether the kind of grant suits the waiter, apart from who holds it now.
bool fits(const claim& claim, const local_waiter& waiter) noexcept;

/// The grants of one lock that one client has at the store, with their leases: whom a grant suits,
/// for how long it may be passed on, and who must hear that somebody waits for it.
///
/// No I/O; guarded by the mutex of the lock table.
class granted_claims {
public:
    explicit granted_claims(const queue_rules& rules) noexcept : rules_(rules) {}

    bool empty() const noexcept { return claims_.empty(); }

    /// Adds a claim that the store granted just now.
    void add(const std::shared_ptr<claim>& claim);
    void remove(claim& claim);
    /// Removes a grant that is gone. @return its leases.
    std::vector<std::shared_ptr<held_grant>> lose(claim& claim);
    /// Drops all grants; nobody can be told any longer.
    void abandon() noexcept;

    /// A grant without holders; null if there is none.
    claim* idle() const noexcept;
    /// Whether any lease of this client holds the lock.
    bool held() const noexcept;
    /// Whether no grant of another session can stand beside these for the waiter.
    bool exclude(const local_waiter& waiter) const noexcept;
    /// A grant that serves a newcomer at once: the newcomer is a reader and can join others, or the
    /// grant is idle. Null if there is none.
    claim* serving_now(const local_waiter& waiter) const;
    /// Whether one of the grants will serve the head of the queue without the store.
    bool will_serve(const local_waiter& head) const;
    /// Whether the grant can serve the waiter without the store, now or when its holders leave.
    bool will_serve(const claim& claim, const local_waiter& waiter) const noexcept;
    bool may_pass(const claim& claim, clock::time_point now) const;

    /// Another client waits for the lock: from now on the grant is passed on for a turn only.
    void begin_turn(claim& claim) const;
    /// Makes readers, who share a token, the next holders of the grant.
    static void open_to_readers(claim& claim);
    /// Makes the waiter a holder. @return its lease.
    std::shared_ptr<held_grant> give(claim& claim, const local_waiter& waiter) const;

    /// The leases of an owner.
    struct owner_hold {
        held_grant* live = nullptr;
        bool lost = false;  ///< There is none that is live, but one that is lost by the clock.
    };
    owner_hold hold_of(const owner_id& owner) const noexcept;
    /// Grants another lease to the owner of `held`. @return why not, if the owner gets none.
    error_code hold_again(held_grant& held, local_waiter& waiter, queue_work& work) const;

    /// Arranges that the holder hears of the next waiter. @return false if somebody waits already.
    /// True for a lease that is not held any more: its loss or release ends the wait.
    bool watch(held_grant& held, bool waited_for);
    /// Tells the holders who watch, if somebody waits by now.
    void tell_contended(bool waited_for, queue_work& work);

private:
    std::shared_ptr<held_grant>
    make_hold(claim& claim, const local_waiter& waiter, const fencing_token& token) const;

    const queue_rules& rules_;
    std::vector<std::shared_ptr<claim>> claims_;
    bool watched_ = false;  ///< Whether a holder may be waiting for contention.
};

}  // namespace mortise::detail

#endif
