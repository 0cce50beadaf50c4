// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_LOCK_QUEUE_HPP
#define MORTISE_CLIENT_LOCK_QUEUE_HPP

#include "client/claim.hpp"
#include "client/client_home.hpp"
#include "client/held_grant.hpp"
#include "client/owner_records.hpp"
#include "client/queue_work.hpp"
#include "client/waiter_list.hpp"
#include "mortise/options.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::detail {

/// What every queue of a client goes by.
struct queue_rules {
    std::shared_ptr<const client_home> home;
    std::uint32_t turn_handoffs_max = 0;
    clock::duration turn_time_max{};
    bool local_handoff = true;
    std::size_t holds_max = 1;  ///< Leases of one owner.
    clock::duration stop_margin{};
};

/// One lock as one client sees it: who waits for it here, and which claims it has at the store.
///
/// The rules of passing a lock on inside a process (DESIGN: one request stands at the store for all
/// who wait here):
/// * waiters are served in the order of their arrival, readers that stand together at once;
/// * an exclusive grant serves writers and readers, a shared one readers, a permit one that wants
///   the same number of permits; a grant that ends by itself serves only whom it was asked for;
/// * it is passed on with the next of its tokens, while the session is surely held;
/// * once another client waits, only for a *turn*: so many times, for so long; and no reader joins
///   those who hold it;
/// * at most one request waits at the store for the head of the queue, unless a grant that is here
///   will serve the head anyway.
///
/// No I/O; everything under the mutex of the lock table. What has to be done comes out as
/// `queue_work`.
class lock_queue : public std::enable_shared_from_this<lock_queue> {
public:
    lock_queue(std::string name, const queue_rules& rules)
        : name_(std::move(name)), rules_(rules) {}

    const std::string& name() const noexcept { return name_; }

    /// Serves the waiter, refuses it, or lets it stand in the queue.
    void acquire(const std::shared_ptr<local_waiter>& waiter, queue_work& work);

    /// Takes out a waiter that wants it no more, because of `why`.
    void cancel(local_waiter& waiter, error_code why, queue_work& work);

    /// The store's yes.
    void granted(claim& what, queue_work& work);

    /// The store's no, or an error, is on its way for all whom this claim stands for: they are
    /// bound to it.
    void doomed(claim& what, queue_work& work);

    /// The end of a claim that was not granted.
    static void refused_all(waiter_list& whom, error_code why, queue_work& work);
    void refused(claim& what, error_code why, queue_work& work);

    /// Another client waits for this lock. @return whether this was news.
    bool contended(claim& what, queue_work& work);

    /// What became of a release.
    enum class release_outcome : std::uint8_t {
        done,      ///< The grant stays in the process: passed on, shared, or lingering.
        to_store,  ///< The grant has to go back to the store.
        was_gone,
    };
    release_outcome release(held_grant& held, queue_work& work);

    /// As `release`, of a reentrant lease whose own `hold_max` is over: its owner must let go of it
    /// before it acquires anew.
    release_outcome end_hold(held_grant& held, queue_work& work);

    /// Lets go of a lease that was lost.
    void let_go(held_grant& held) noexcept { owners_.let_go(held); }

    /// The holder goes without a word.
    void forget(held_grant& held) noexcept;

    /// Tells of the next one who waits, here or elsewhere. @return false if there is no need to
    /// wait for that: somebody waits, or the lease is not held.
    bool watch(held_grant& held);

    /// Gives an idle grant back if it has lingered long enough. @return when to look again, if it
    /// has not; the end of time if that is not needed.
    clock::time_point linger_over(claim& what, clock::time_point now, queue_work& work);

    /// The grant is gone: who held it is to be told.
    std::vector<std::shared_ptr<held_grant>> lost(claim& what, queue_work& work);

    /// Everybody who waits is completed with `why`; claims that ask are stopped.
    void close(error_code why, queue_work& work);

    /// Lets go of everything; nobody can be told any more.
    void abandon(queue_work& work);

    /// Whether anything of it is left: else the client can forget it.
    bool in_use() const noexcept {
        return !waiting_.empty() || !claims_.empty() || asking_ != 0 || owners_.any_lost();
    }
    /// Whether somebody waits here.
    bool waited_for() const noexcept { return !waiting_.empty(); }

private:
    bool reenter(const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    error_code hold_again(held_grant& held, local_waiter& waiter, queue_work& work);
    void serve_owner(const owner_id& owner, queue_work& work);
    void tell_contended(queue_work& work);
    std::shared_ptr<local_waiter> take_first();
    bool serve_now(const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    bool held_here() const;
    bool certainly_busy(const local_waiter& waiter) const;
    void give_back_idle(queue_work& work);
    bool will_serve(const claim& what, const local_waiter& waiter) const;
    bool may_pass(const claim& what, clock::time_point now) const;
    void serve(claim& what, queue_work& work);
    release_outcome next(claim& what, queue_work& work);
    void give(claim& what, std::shared_ptr<local_waiter> waiter, queue_work& work);
    std::shared_ptr<held_grant>
    make_hold(claim& what, const local_waiter& waiter, const fencing_token& token);
    bool pending_fits() const;
    void ask_for_head(queue_work& work);
    std::shared_ptr<claim> ask(const local_waiter& waiter, bool queues, queue_work& work);
    void leave(claim& what, queue_work& work);
    void remove_granted(claim& what);
    void begin_turn(claim& what);

    const std::string name_;
    const queue_rules& rules_;
    waiter_list waiting_;
    std::shared_ptr<claim> pending_;
    std::vector<std::shared_ptr<claim>> claims_;  ///< Granted.
    std::size_t asking_ = 0;                      ///< Claims that are not granted nor over.
    owner_records owners_;
    bool watched_ = false;  ///< Whether somebody who holds it may wait for contention.
};

}  // namespace mortise::detail

#endif
