// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_PARTICIPANT_LANES_HPP
#define MORTISE_TXN_COORDINATOR_PARTICIPANT_LANES_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/running.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/participant.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
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
class call_limits {
public:
    call_limits(std::size_t calls_max, std::uint32_t failures_max, clock::duration pause) noexcept
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

/// One participant: how many calls it may get, the calls that wait, and who waits for it.
struct participant_lane {
    participant_lane(std::string of, call_limits calls, std::shared_ptr<participant> called)
        : name(std::move(of)), limits(calls), client(std::move(called)) {}

    const std::string name;
    call_limits limits;
    const std::shared_ptr<participant> client;
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

/// The participants of a coordinator, each with its lane: who answers, who has too many waiters,
/// and who is ahead of the log. These decide whether a new transaction may begin.
///
/// @par Threads The strand, except for `commits_alone` and `all_prepare`.
class participant_lanes final : coordinator_part {
public:
    using table = std::map<std::string, participant_lane, std::less<>>;

    participant_lanes(coordinator_core& core, coordinator_context& context);

    table& all() noexcept { return lanes_; }
    /// Returns the lane of the participant, or null.
    participant_lane* find(std::string_view participant);
    /// Returns the lane of a branch whose participant is known.
    participant_lane& of(const running& transaction, branch_number number);

    /// Whether the only branch of a transaction is committed by its try. Not under a lock, whose
    /// loss before the decision must cancel it. Any thread.
    bool commits_alone(const log::plan& plan) const {
        if (plan.branches.size() != 1 || !plan.locks.empty())
            return false;
        const auto at = lanes_.find(plan.branches.front().participant);
        return at != lanes_.end() && at->second.client->commits_alone();
    }

    /// Whether all participants list the branches that they have prepared. Any thread.
    bool all_prepare(const log::plan& plan) const {
        return std::all_of(plan.branches.begin(), plan.branches.end(), [this](const auto& each) {
            const auto at = lanes_.find(each.participant);
            return at != lanes_.end() && at->second.client->prepares();
        });
    }

    /// Ends a call with an answer.
    void note_answer(participant_lane& at);
    /// Ends a call without one.
    void note_failure(participant_lane& at, error_code why);

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
    void end_wait(running& transaction, branch_number number);

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

    /// Drops what waits for its turn, because the context is ending.
    void clear_queues() noexcept;

private:
    /// Whether `holds` for the lane of one of its participants.
    template <class Condition>
    bool any_lane(const running& transaction, Condition holds) const;

    table lanes_;
    const std::size_t waiting_max_;
};

}  // namespace mortise::txn::detail

#endif
