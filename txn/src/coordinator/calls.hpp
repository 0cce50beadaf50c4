// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_CALLS_HPP
#define MORTISE_TXN_COORDINATOR_CALLS_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "log/log_entries.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/participant.hpp"
#include "mortise/txn/reply.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::txn::detail {

/// Limits the calls of one participant: many at a time while it answers, else one at a time with
/// pauses between (a circuit breaker). No clock, no I/O.
class lane {
public:
    lane(std::size_t calls_max, std::uint32_t failures_max, clock::duration pause) noexcept
        : calls_max_(calls_max), failures_max_(failures_max), pause_(pause) {}

    bool may_call(clock::time_point now) const noexcept {
        return broken() ? calls_ == 0 && now >= probe_at_ : calls_ < calls_max_;
    }

    /// When to ask `may_call` again if it says no now; `max()`: when a call has ended.
    clock::time_point next(clock::time_point now) const noexcept {
        return broken() && calls_ == 0 ? std::max(probe_at_, now) : clock::time_point::max();
    }

    void begin() noexcept { ++calls_; }

    void answered() noexcept {
        --calls_;
        failures_ = 0;
    }

    void failed(clock::time_point now) noexcept {
        --calls_;
        if (++failures_ >= failures_max_)
            probe_at_ = now + pause_;
    }

    /// Closes the breaker: the participant is known to answer again, or must be tried at once.
    void mend() noexcept { failures_ = 0; }

    /// Ends a call that nobody waits for any longer.
    void given_up() noexcept { --calls_; }

    bool broken() const noexcept { return failures_ >= failures_max_; }

private:
    std::size_t calls_max_;
    std::uint32_t failures_max_;
    clock::duration pause_;
    std::size_t calls_ = 0;
    std::uint32_t failures_ = 0;
    clock::time_point probe_at_;
};

/// Whether an error of a participant stays the same however often the call is repeated.
bool is_final(error_code failed) noexcept;

/// Calls participants: queues the calls of each, limits how many are under way, and gives them up.
///
/// @par Threads The strand.
class calls final : coordinator_part {
public:
    calls(coordinator_core& core, coordinator_context& context);

    /// Calls the participant of a branch as soon as the participant may be called.
    void send(const running_ptr& transaction, branch_number number);
    /// Makes the calls that may be made now, because transactions were dropped.
    void pump_all();
    /// Ends the pauses of branches that wait for their next attempt.
    void hurry(const running_ptr& transaction);
    /// Drops tries that were not sent. Tells those under way to end, and awaits their answers.
    void stop_tries(const running_ptr& transaction, steps& next);
    /// Ends everything that is under way for a transaction, and awaits no answers.
    void give_up(running& transaction);
    /// Drops what waits for its turn, because the context is ending.
    void clear_queues() noexcept;

    bool knows(std::string_view participant) const { return lanes_.contains(participant); }
    /// Whether a participant of the transaction does not answer.
    bool is_away(const running& transaction) const;

    /// Whether as many transactions as may already wait for a participant of this one.
    bool is_full(const running& transaction) const;
    /// Counts the transaction as waiting for each of its participants, until `end_waits`: nobody is
    /// called yet.
    void begin_waits(running& transaction);
    void end_waits(running& transaction);
    /// Counts the transaction as waiting for the participant of a branch, until an answer comes.
    void begin_wait(running& transaction, branch_number number);

    /// Notes that a confirm or cancel could not be delivered yet, or that it was.
    void add_debt(running& transaction, branch_number number);
    void clear_debt(running& transaction, branch_number number);

    /// Begins nothing new with the participant of that branch, because it is ahead of the log,
    /// until the transaction is no longer open here, or an operator has looked at one like it.
    void bar(running& transaction, branch_number number);
    bool is_barred(const running& transaction) const;
    void lift_bars(const running& transaction);
    /// Removes the bars of a transaction that has ended.
    void remove_bars(running& transaction);

    /// Tells participants with later calls which transactions have ended.
    void set_ends(log::ends_below ends) { ends_ = std::move(ends); }

private:
    struct client_lane {
        client_lane(lane limits, std::shared_ptr<participant> called)
            : judge(limits), client(std::move(called)) {}
        lane judge;
        std::shared_ptr<participant> client;
        std::size_t owed = 0;     ///< Confirms and cancels that it did not answer.
        std::size_t waiters = 0;  ///< Transactions that wait for it.
        bool broken = false;      ///< As last reported to the observer.
        /// The transactions by which it is ahead of the log: nothing new is begun with it.
        std::set<std::uint64_t> ahead;
        struct waiting {
            running_ptr transaction;
            branch_number branch;
        };
        std::deque<waiting> queue;
        coordinator_context::timer timer;
    };

    void pump(client_lane& at);
    void call_branch(client_lane& at, const running_ptr& transaction, branch_number number);
    call call_for(const running& transaction, branch_number number) const;
    void end_call(
        const running_ptr& transaction,
        branch_number number,
        std::uint64_t flight,
        const std::exception_ptr& thrown,
        result<reply> got
    );
    void note_health(client_lane& at, const std::string& name, const result<reply>& got);
    void give_up_unsent(client_lane& at);
    void end_wait(running& transaction, branch_number number);

    std::map<std::string, client_lane, std::less<>> lanes_;
    const std::size_t waiting_max_;
    std::uint64_t flights_ = 0;
    log::ends_below ends_;
};

}  // namespace mortise::txn::detail

#endif
