// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_LOCAL_LOCKS_HPP
#define MORTISE_CLIENT_LOCAL_LOCKS_HPP

#include "client/claim.hpp"
#include "client/client_context.hpp"
#include "client/held_grant.hpp"
#include "client/local_waiter.hpp"
#include "client/lock_table.hpp"
#include "mortise/lease.hpp"
#include "mortise/options.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mortise::detail {

/// The locks of this process: takes the calls of users to the lock table, and carries out what
/// follows from each change of the table.
///
/// @par Threads Any, except for the members marked "The strand".
class local_locks final : client_part {
public:
    local_locks(client_core& core, client_context& context);

    lock_table& table() noexcept { return table_; }
    const lock_table& table() const noexcept { return table_; }

    void acquire(
        std::string name, lock_options options, bool queues, local_waiter::handler_type handler
    );
    /// Makes the handler of the n-th of several acquires.
    using handler_maker = std::function<local_waiter::handler_type(std::size_t)>;
    /// Acquires the first of these locks as `acquire` does, and with it as many of the next ones as
    /// the store can be asked for in the same step. Those that it is not asked for in the end,
    /// because it did not grant one before them, complete with `not_asked`.
    /// @return how many handlers there are.
    std::size_t acquire_in_order(
        std::span<const std::string> names, const lock_options& options, const handler_maker& then
    );
    void cancel(local_waiter& waiter, error_code why);
    void release(const std::shared_ptr<held_grant>& held, release_handler handler);
    /// Releases a lease for a destructor: nobody waits for the result, and it must not throw.
    void release_late(const std::shared_ptr<held_grant>& held) noexcept;
    void wait_lost(std::shared_ptr<held_grant> held, lease_handler handler);
    void wait_contended(const std::shared_ptr<held_grant>& held, lease_handler handler);
    void extend(
        std::shared_ptr<held_grant> held, std::chrono::milliseconds hold_max, lease_handler handler
    );
    /// Whether somebody else waits for this lock, here or elsewhere.
    bool wanted(const held_grant& held) const;

    /// Completes waiters, and takes tasks to the strand. Never call this under the table's mutex: a
    /// handler that is destroyed here may release a lease.
    void carry_out(queue_work work);

    /// Ends a lease before its user does. The strand.
    void lose(held_grant& held, errc why);

private:
    std::shared_ptr<local_waiter>
    make_waiter(const lock_options& options, bool queues, local_waiter::handler_type handler);
    void start(std::string name, const std::shared_ptr<local_waiter>& waiter, queue_work& work);
    void complete(const std::shared_ptr<local_waiter>& waiter);
    errc reason_of(const local_waiter& waiter) const;
    void
    count_release(const held_grant& held, lock_queue::release_outcome outcome, bool late) noexcept;
    bool goes_with(const strand_task& release, const strand_task& next) const;
    static std::vector<std::shared_ptr<claim>>
    behind(const std::vector<strand_task>& tasks, std::size_t first);
    void run(const std::vector<strand_task>& tasks);
    void refuse(const std::vector<strand_task>& tasks);
    void extend_own(const std::shared_ptr<held_grant>& held, std::chrono::milliseconds hold_max);
    void end_hold_at(const std::shared_ptr<held_grant>& held);
    void end_hold(held_grant& held);

    lock_table table_;
};

}  // namespace mortise::detail

#endif
