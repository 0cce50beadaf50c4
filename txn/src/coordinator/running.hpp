// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_RUNNING_HPP
#define MORTISE_TXN_COORDINATOR_RUNNING_HPP

#include "core/tcc_fsm.hpp"
#include "log/durable_decision.hpp"
#include "log/log_entries.hpp"
#include "log/plan.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/lease_view.hpp"
#include "mortise/txn/branch_work.hpp"
#include "mortise/txn/outcome.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::txn::detail {

namespace asio = boost::asio;

class coordinator_core;
class partition;

using outcome_handler = coro::detail::completion<void(error_code, outcome)>;
using steps = core::tcc_fsm::steps;

/// The way to tell a call of a participant to end. It lives as long as the call, even if nobody
/// waits for the call any longer. The signal arrives on the strand of the call.
class call_stop : public std::enable_shared_from_this<call_stop> {
public:
    explicit call_stop(const asio::any_io_executor& executor)
        : strand_(asio::make_strand(executor)) {}

    const asio::any_io_executor& strand() const noexcept { return strand_; }
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }

    /// May be called from any thread.
    void emit() {
        asio::dispatch(strand_, [self = shared_from_this()] {
            self->signal_.emit(asio::cancellation_type::terminal);
        });
    }

private:
    const asio::any_io_executor strand_;
    asio::cancellation_signal signal_;
};

/// A waiter for the end of a transaction, until that end or its own cancellation. Used on the
/// coordinator's strand only.
class settler {
public:
    settler(
        std::weak_ptr<coordinator_core> core, const txn::gid& transaction, outcome_handler handler
    )
        : gid(transaction), core_(std::move(core)), handler_(std::move(handler)) {}

    /// Whether it has not been answered yet.
    bool waits() const noexcept { return static_cast<bool>(handler_); }

    void answer(error_code failed, const outcome& decision) {
        if (waits())
            handler_.complete(failed, decision);
    }

    void on_cancel(asio::cancellation_type_t type);
    /// Where that is called; empty once the context has ended. Any thread.
    asio::any_io_executor strand() const;

    const txn::gid gid;

private:
    const std::weak_ptr<coordinator_core> core_;
    outcome_handler handler_;
};

using settler_ptr = std::shared_ptr<settler>;

/// A transaction that is under way at a coordinator. Used on the coordinator's strand only.
class running : public std::enable_shared_from_this<running> {
public:
    /// @param alone its only branch is committed by its try
    running(
        std::shared_ptr<const log::plan> given, std::weak_ptr<coordinator_core> core, bool alone
    )
        : plan(std::move(given)), of(std::move(core)), fsm(plan->branches, alone) {
        branches.resize(plan->branches.size());
        done.branches.resize(plan->branches.size());
        std::map<std::string_view, std::uint32_t> seen;
        for (std::uint32_t i = 0; i < branches.size(); ++i)
            branches[i].first = seen.try_emplace(plan->branches[i].participant, i).first->second;
    }

    /// Called when the caller cancels.
    void on_cancel(asio::cancellation_type_t type);
    /// Where that is called; empty once the context has ended. Any thread.
    asio::any_io_executor strand() const;

    const std::shared_ptr<const log::plan> plan;
    const std::weak_ptr<coordinator_core> of;
    std::optional<std::string> key;
    std::vector<lease_view> leases;
    std::chrono::milliseconds time_max{0};
    std::uint32_t try_attempts_max = 0;

    txn::gid gid;               ///< Empty until it has begun.
    partition* home = nullptr;  ///< Its partition; null until it has begun.
    std::uint64_t term = 0;     ///< The term in which it began.
    log::begin_way begins = log::begin_way::forced;
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
        bool waits = false;          ///< For its participant: its turn, an answer, or a pause.
        bool bars = false;           ///< Its participant is barred because of it.
        std::uint32_t first = 0;     ///< The first branch of its participant, from zero.
        std::uint32_t waiting = 0;   ///< Of a first branch: how many of them wait.
        std::shared_ptr<branch_work> work;  ///< Of its try, until the decision.
        clock::time_point sent;
        std::shared_ptr<call_stop> stop;
        coro::detail::deadline_list::handle timer;  ///< Of the call, or before the next one.
    };
    std::vector<branch> branches;
    coro::detail::deadline_list::handle
        timer;            ///< Of the deadline, or before asking the log again.
    unsigned orders = 0;  ///< Orders of operators on the way to the log.
};

using running_ptr = std::shared_ptr<running>;

/// The outcome as far as it is decided.
outcome outcome_of(const running& transaction);

/// Answers all waiters, and leaves none.
void answer(std::vector<outcome_handler>& waiters, error_code failed, const outcome& decision);
void answer(std::vector<settler_ptr>& waiters, error_code failed, const outcome& decision);

}  // namespace mortise::txn::detail

#endif
