// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_LOCK_QUEUE_HPP
#define MORTISE_CLIENT_LOCK_QUEUE_HPP

#include "client/claim.hpp"
#include "client/granted_claims.hpp"
#include "client/held_grant.hpp"
#include "client/local_waiter.hpp"
#include "client/owner_records.hpp"
#include "mortise/options.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::detail {

/// One lock as one client sees it: its waiters in this process, and its claims at the store.
///
/// The rules of passing a lock on inside a process (DESIGN: one request at the store stands for all
/// waiters of the process):
/// * waiters are served in the order of their arrival, readers that stand together at once;
/// * an exclusive grant serves writers and readers, a shared one readers, a permit a waiter for the
///   same number of permits; a grant that ends by itself serves only the waiter it was asked for;
/// * a grant is passed on with the next of its tokens, while the session is surely held;
/// * once another client waits, a grant is passed on only for a *turn*, limited in number and in
///   time (`turn_handoffs_max`, `turn_time_max`), and no reader joins its holders;
/// * at most one request waits at the store for the head of the queue, unless a grant of this
///   client will serve the head anyway.
///
/// No I/O; guarded by the mutex of the lock table. Functions return the work to do as `queue_work`.
class lock_queue : public std::enable_shared_from_this<lock_queue> {
public:
    lock_queue(std::string name, const queue_rules& rules)
        : name_(std::make_shared<const std::string>(std::move(name))),
          grants_(rules),
          rules_(rules) {}

    const std::shared_ptr<const std::string>& name() const noexcept { return name_; }

    /// Serves the waiter, refuses it, or lets it stand in the queue.
    void acquire(const std::shared_ptr<local_waiter>& waiter, queue_work& work);

    /// Asks for a lock that nobody here uses, in one call with others before it: see
    /// `claim::behind`.
    void acquire_behind(const std::shared_ptr<local_waiter>& waiter, queue_work& work);

    /// Takes out a waiter that no longer wants the lock, because of `why`.
    void cancel(local_waiter& waiter, error_code why, queue_work& work);

    /// The store granted this claim.
    void granted(claim& claim, queue_work& work);

    /// Binds to this claim all waiters that it stands for, because a refusal or an error is on its
    /// way.
    void doomed(claim& claim, queue_work& work);

    /// Completes the waiters of a claim that ends without a grant.
    static void refused_all(waiter_list& waiters, error_code why, queue_work& work);
    void refused(claim& claim, error_code why, queue_work& work);

    /// Another client waits for this lock. @return whether this was news.
    bool contended(claim& claim, queue_work& work);

    /// The result of a release.
    enum class release_outcome : std::uint8_t {
        done,      ///< The grant stays in the process: passed on, shared, or lingering.
        to_store,  ///< The grant must go back to the store.
        was_gone,
    };
    release_outcome release(held_grant& held, queue_work& work);

    /// As `release`, for a reentrant lease whose own `hold_max` is over: its owner must let go of
    /// the lease before it acquires anew.
    release_outcome end_hold(held_grant& held, queue_work& work);

    /// Lets go of a lease that was lost.
    void let_go(held_grant& held) noexcept { owners_.let_go(held); }

    /// Unlinks a lease that goes without a release.
    void forget(held_grant& held) noexcept;

    /// As `granted_claims::watch`, for waiters here and elsewhere.
    bool watch(held_grant& held) { return grants_.watch(held, waited_for()); }

    /// Gives an idle grant back if it has lingered long enough. @return when to call again, if it
    /// has not; the clock's maximum if that is not needed.
    clock::time_point linger_over(claim& claim, clock::time_point now, queue_work& work);

    /// Removes a grant that is gone. @return its leases, whose holders must be told.
    std::vector<std::shared_ptr<held_grant>> lost(claim& claim, queue_work& work);

    /// Completes all waiters with `why`, and stops the request for the head of the queue.
    void close(error_code why, queue_work& work);

    /// Drops everything; nobody can be told any longer.
    void abandon(queue_work& work);

    /// Whether anything of this lock is left; if not, the client can forget it.
    bool in_use() const noexcept {
        return !waiting_.empty() || !grants_.empty() || asking_ != 0 || owners_.any_lost();
    }
    /// Whether somebody waits here.
    bool waited_for() const noexcept { return !waiting_.empty(); }

private:
    bool reenter(const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    void serve_owner(const owner_id& owner, queue_work& work);
    std::shared_ptr<local_waiter> take_first();
    bool serve_now(const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    void give_back_idle(queue_work& work);
    void serve(claim& claim, queue_work& work);
    release_outcome next(claim& claim, queue_work& work);
    void give(claim& claim, std::shared_ptr<local_waiter> waiter, queue_work& work);
    bool pending_fits() const;
    void ask_for_head(queue_work& work);
    std::shared_ptr<claim> ask(const local_waiter& waiter, bool queues, queue_work& work);
    claim& ask_alone(const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    void leave(claim& claim, queue_work& work);

    const std::shared_ptr<const std::string> name_;  ///< Shared with claims and waiters.
    granted_claims grants_;
    const queue_rules& rules_;
    waiter_list waiting_;
    std::shared_ptr<claim> pending_;
    std::size_t asking_ = 0;  ///< Claims that are neither granted nor over.
    owner_records owners_;
};

}  // namespace mortise::detail

#endif
