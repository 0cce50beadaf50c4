// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_CALLS_HPP
#define MORTISE_TXN_COORDINATOR_CALLS_HPP

#include "coordinator/coordinator_context.hpp"
#include "coordinator/participant_lanes.hpp"
#include "coordinator/running.hpp"
#include "log/log_entries.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/reply.hpp"

#include <cstdint>
#include <exception>
#include <utility>

namespace mortise::txn::detail {

/// Keeps the participant alive while it works on the call.
asio::awaitable<result<reply>> carry(std::shared_ptr<participant> client, call call);

/// Whether an error of a participant stays the same however often the call is repeated.
bool is_final(error_code failed) noexcept;

/// Calls participants: queues calls in the lanes of participants, makes them, and gives them up.
///
/// @par Threads The strand.
class calls final : coordinator_part {
public:
    calls(coordinator_core& core, coordinator_context& context) noexcept
        : coordinator_part(core, context) {}

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
    /// Tells participants with later calls which transactions have ended.
    void set_ends(log::ends_below ends) { ends_ = std::move(ends); }

private:
    void pump(participant_lane& at);
    void call_branch(participant_lane& at, const running_ptr& transaction, branch_number number);
    call call_for(const running& transaction, branch_number number) const;
    void end_call(
        const running_ptr& transaction,
        branch_number number,
        std::uint64_t flight,
        const std::exception_ptr& thrown,
        result<reply> got
    );
    void give_up_unsent(participant_lane& at);

    std::uint64_t flights_ = 0;
    log::ends_below ends_;
};

}  // namespace mortise::txn::detail

#endif
