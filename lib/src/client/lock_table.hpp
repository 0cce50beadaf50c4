// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_LOCK_TABLE_HPP
#define MORTISE_CLIENT_LOCK_TABLE_HPP

#include "client/lock_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::detail {

/// All locks that a client uses, by name, under one mutex: owns their queues, which own their
/// waiters and claims. Those know their queue without keeping it.
///
/// Acquires and releases come here from any thread, without a detour over the client's strand: all
/// that can be settled inside the process is settled at once. The rest is returned as `queue_work`,
/// which the caller carries out when the mutex is free again.
///
/// @par Threads Any, for all members; sections under the mutex are short, and no handler is ever
///              run or destroyed there.
class lock_table {
public:
    lock_table(queue_rules rules, std::size_t waiters_max)
        : rules_(std::move(rules)), waiters_max_(waiters_max) {}
    /// Ends the leases that are still held; not in a forked child, where the mutex may be locked
    /// for ever.
    ~lock_table();
    lock_table(const lock_table&) = delete;
    lock_table& operator=(const lock_table&) = delete;

    /// @return the queue in which the waiter waits; null if it was settled at once.
    std::shared_ptr<lock_queue>
    acquire(std::string name, const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    /// As `lock_queue::acquire_behind`. @return false, and nothing is done, if somebody here uses
    /// that lock, or no more can wait.
    bool acquire_behind(
        const std::string& name, const std::shared_ptr<local_waiter>& waiter, queue_work& work
    );
    void cancel(local_waiter& waiter, error_code why, queue_work& work);
    /// Takes over `handler` if the grant goes back to the store.
    lock_queue::release_outcome
    release(held_grant& held, release_handler& handler, bool late, queue_work& work);
    /// As `lock_queue::end_hold`.
    lock_queue::release_outcome end_hold(held_grant& held, queue_work& work);
    /// Notes that the user let go of a lost lease.
    void let_go(held_grant& held);
    /// As `lock_queue::watch`.
    bool watch(held_grant& held);
    /// Unlinks a lease that is about to be destroyed without a release.
    void forget(held_grant& held) noexcept;
    void granted(claim& claim, queue_work& work);
    void doomed(claim& claim, queue_work& work);
    void refused(claim& claim, error_code why, queue_work& work);
    /// As `refused`, unless the claim's outcome is known already.
    void give_up(claim& claim, error_code why, queue_work& work);
    /// @return whether this was news.
    bool contended(claim& claim, queue_work& work);
    void add_tokens(claim& claim, const token_range& range);
    void draw_failed(claim& claim);
    clock::time_point linger_over(claim& claim, clock::time_point now, queue_work& work);
    std::vector<std::shared_ptr<held_grant>> lost(claim& claim, queue_work& work);

    /// The leases that hold the claim at present.
    std::vector<std::shared_ptr<held_grant>> holders(const claim& claim) const;

    /// Completes all waiters with `why`, now and from now on.
    void close(error_code why, queue_work& work);

    /// Cancels with `busy` all waiters whose time is up.
    void expire(clock::time_point now, queue_work& work);
    /// The nearest deadline of all waiters.
    clock::time_point next_deadline() const;

    /// Whether somebody else wants this lock, here or elsewhere.
    bool wanted(const claim& claim) const;

    /// Takes out all waiters without completing them, because the context has ended.
    waiter_list abandon();

private:
    using deadline = std::pair<clock::time_point, std::uint64_t>;

    std::shared_ptr<lock_queue> queue_of(std::string name, local_waiter& waiter);
    void settle(lock_queue& queue, queue_work& work);
    void stand(local_waiter& waiter, queue_work& work);

    const queue_rules rules_;
    const std::size_t waiters_max_;

    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<lock_queue>> queues_;
    std::map<deadline, local_waiter*> deadlines_;
    std::uint64_t last_deadline_ = 0;
    std::size_t waiting_ = 0;
    error_code closed_;
};

}  // namespace mortise::detail

#endif
