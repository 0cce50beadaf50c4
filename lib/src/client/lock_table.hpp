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

/// All locks that a client has to do with, by name, under one mutex.
///
/// Acquires and releases come here from any thread, without a detour over the client's strand: what
/// can be settled inside the process is settled at once. What cannot comes out as `queue_work`,
/// which the caller carries out when the mutex is free again.
///
/// @par Threads Any, for all members; sections under the mutex are short, and no handler is ever
///              run or destroyed there.
class lock_table {
public:
    lock_table(queue_rules rules, std::size_t waiters_max)
        : rules_(std::move(rules)), waiters_max_(waiters_max) {}
    /// Queues, claims and waiters refer to each other: lets go of them, but not in a forked child,
    /// where the mutex may be locked for ever.
    ~lock_table();
    lock_table(const lock_table&) = delete;
    lock_table& operator=(const lock_table&) = delete;

    /// @return where it has to wait, if it has to.
    std::shared_ptr<lock_queue>
    acquire(std::string name, const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    void cancel(local_waiter& waiter, error_code why, queue_work& work);
    /// Takes over `handler` if the grant goes back to the store.
    lock_queue::release_outcome
    release(held_grant& held, release_handler& handler, bool late, queue_work& work);
    /// Its own `hold_max` is over.
    lock_queue::release_outcome end_hold(held_grant& held, queue_work& work);
    /// Its user lets go of a lease that was lost.
    void let_go(held_grant& held);
    /// As `lock_queue::watch`.
    bool watch(held_grant& held);
    /// It is about to be destroyed, without a release.
    void forget(held_grant& held) noexcept;
    void granted(claim& what, queue_work& work);
    void doomed(claim& what, queue_work& work);
    void refused(claim& what, error_code why, queue_work& work);
    /// As `refused`, unless its outcome is known already.
    void give_up(claim& what, error_code why, queue_work& work);
    /// @return whether this was news.
    bool contended(claim& what, queue_work& work);
    void add_tokens(claim& what, const token_range& range);
    void draw_failed(claim& what);
    clock::time_point linger_over(claim& what, clock::time_point now, queue_work& work);
    std::vector<std::shared_ptr<held_grant>> lost(claim& what, queue_work& work);

    /// Who holds it just now.
    std::vector<std::shared_ptr<held_grant>> holders(const claim& what) const;

    /// Everybody who waits is completed with `why`, and so is everybody who comes.
    void close(error_code why, queue_work& work);

    /// Everybody whose time is up gets `busy`.
    void expire(clock::time_point now, queue_work& work);
    /// The nearest deadline of those who wait.
    clock::time_point next_deadline() const;

    /// Whether somebody else wants this lock, here or elsewhere.
    bool wanted(const claim& what) const;

    /// Waiting ones are taken out without being completed, for the context has ended.
    waiter_list abandon();

private:
    using deadline = std::pair<clock::time_point, std::uint64_t>;

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
