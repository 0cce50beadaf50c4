// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_RUNNING_HPP
#define MORTISE_TXN_COORDINATOR_RUNNING_HPP

#include "coordinator/call_stop.hpp"
#include "coordinator/settler.hpp"
#include "core/tcc_fsm.hpp"
#include "log/durable_decision.hpp"
#include "log/plan.hpp"
#include "log/progress.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/lease_view.hpp"
#include "mortise/txn/outcome.hpp"

#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::txn::detail {

class coordinator_core;
class partition;

using outcome_handler = coro::detail::completion<void(error_code, outcome)>;

/// A transaction that is under way at a coordinator. Used on the coordinator's strand only.
class running : public std::enable_shared_from_this<running> {
public:
    running(std::shared_ptr<const log::plan> given, std::weak_ptr<coordinator_core> core)
        : plan(std::move(given)), of(std::move(core)), fsm(plan->branches) {
        branches.resize(plan->branches.size());
        done.branches.resize(plan->branches.size());
    }

    /// Called when the caller cancels.
    void on_cancel(asio::cancellation_type_t type);

    const std::shared_ptr<const log::plan> plan;
    const std::weak_ptr<coordinator_core> of;
    std::optional<std::string> key;
    std::vector<lease_view> leases;
    std::chrono::milliseconds time_max{0};
    std::uint32_t try_attempts_max = 0;

    txn::gid gid;               ///< Empty until it has begun.
    partition* home = nullptr;  ///< Its partition; null until it has begun.
    std::uint64_t term = 0;     ///< The term in which it began.
    core::tcc_fsm fsm;
    log::progress done;
    clock::time_point since;
    clock::time_point until;  ///< When its tries must have succeeded.
    bool withdrawn = false;   ///< Given up before it had begun.
    bool resumed = false;     ///< Taken up from the log.
    bool slow = false;        ///< Resumed, and waits for a participant or for people.
    bool undecided = false;   ///< Counted in `home->undecided`.
    bool suspicious = false;  ///< A participant has seen something that the log does not know.
    bool for_people = false;  ///< One of its branches is stuck.
    bool deciding = false;    ///< Its decision is on the way to the log.
    bool ending = false;      ///< Its end is on the way to the log.

    std::optional<log::durable_decision> proof;
    error_code why;  ///< The reason to cancel it.
    std::string text;
    std::vector<outcome_handler> waiters;
    std::vector<settler_ptr> settlers;  ///< Wait for its end.

    struct branch {
        std::uint32_t attempts = 0;  ///< Of the present kind of call.
        std::uint32_t agains = 0;    ///< How often the participant asked for time.
        std::uint64_t flight = 0;    ///< The call that is under way; zero: none.
        bool queued = false;         ///< It waits for its turn at the participant.
        bool unasked = false;        ///< Stuck when it was taken up; no answer since.
        bool owed = false;           ///< Its confirm or cancel could not be delivered yet.
        bool uncertain = false;      ///< A try got no clear answer: it may have had its effect.
        clock::time_point sent;
        std::shared_ptr<call_stop> stop;
        coro::detail::deadline_list::handle timer;  ///< Of the call, or before the next one.
    };
    std::vector<branch> branches;
    coro::detail::deadline_list::handle
        timer;            ///< Of the deadline, or before asking the log again.
    unsigned orders = 0;  ///< Orders of operators on the way to the log.
};

}  // namespace mortise::txn::detail

#endif
