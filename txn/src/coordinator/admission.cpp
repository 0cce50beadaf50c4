// SPDX-License-Identifier: BSL-1.0
// How a transaction begins, or why it does not.
#include "coordinator/coordinator_core.hpp"
#include "coordinator/runs.hpp"
#include "log/plan.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"
#include "planted_bugs.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <chrono>
#include <iterator>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

std::shared_ptr<const log::plan> plan_of(const transaction& transaction) {
    auto plan = std::make_shared<log::plan>();
    plan->branches = transaction.branches();
    plan->traceparent = transaction.traceparent();
    for (const auto& each : transaction.leases()) {
        std::string name(each.name());
        // Each permit of a lock has tokens of its own, so its slot is part of the name.
        if (each.slot() != 0)
            name += '#' + std::to_string(each.slot());
        plan->locks.emplace_back(std::move(name), each.token());
    }
    return plan;
}

}  // namespace

void admission::admit(transaction transaction, outcome_handler handler) {
    if (context_.deserted())
        return handler.complete(errc::stopped, outcome());
    if (const auto wrong = check(transaction))
        return handler.complete(wrong, outcome());
    const auto plan = plan_of(transaction);
    const bool alone = core_.lanes.commits_alone(*plan) && !planted_bugs::decide_for_alone();
    auto fresh = std::make_shared<running>(plan, core_.weak_from_this(), alone);
    // What such a one leaves, if its begin is lost, is found at its participants.
    const bool prepare = core_.lanes.all_prepare(*plan) || planted_bugs::lazy_for_all();
    if (!transaction.keyed() && prepare)
        fresh->begins = log::begin_way::lazy;
    if (transaction.keyed())
        fresh->key = transaction.key();
    fresh->leases = transaction.leases();
    for (std::size_t i = 0; i < fresh->branches.size(); ++i)
        fresh->branches[i].work = transaction.work_of(static_cast<branch_number>(i + 1));
    fresh->try_attempts_max = transaction.try_attempts() == 0 ? context_.config().try_attempts_max
                                                              : transaction.try_attempts();
    fresh->time_max = transaction.deadline() == milliseconds(0) ? context_.config().deadline
                                                                : transaction.deadline();
    // Read the slot in the initiating call: afterwards nobody may touch it.
    coro::detail::install_cancel_proxy<running>(handler.release_slot(), fresh);
    fresh->since = context_.now();
    fresh->until = coro::saturating_add(fresh->since, fresh->time_max);
    fresh->waiters.push_back(std::move(handler));
    asio::dispatch(context_.strand(), [this, kept = context_.keep(), fresh] { start(fresh); });
}

error_code admission::check(const transaction& transaction) const {
    const auto& branches = transaction.branches();
    if (branches.empty())
        return errc::no_branches;
    if (branches.size() > log::branches_max)
        return errc::too_many_branches;
    if (transaction.keyed() &&
        (transaction.key().empty() || transaction.key().size() > log::key_max))
        return errc::bad_key;
    if (transaction.deadline() < milliseconds(0))
        return mortise::errc::duration_negative;
    for (std::size_t i = 0; i < branches.size(); ++i) {
        const auto& known = context_.config().participants;
        const auto who = known.find(branches[i].participant);
        if (who == known.end())
            return errc::unknown_participant;
        if (!who->second->accepts(transaction.work_of(static_cast<branch_number>(i + 1)).get()))
            return errc::wrong_work;
        if (branches[i].payload.size() > context_.config().payload_max)
            return errc::payload_too_large;
        for (const auto before : branches[i].after) {
            if (before == 0 || before > i)
                return errc::bad_order;
        }
    }
    return {};
}

void admission::start(const running_ptr& transaction) {
    if (context_.closed() || context_.stopping())
        return answer(transaction->waiters, errc::stopped, outcome());
    if (core_.open.in_work() + early_.size() + beginning_ >= context_.config().open_max)
        return answer(transaction->waiters, errc::too_many_open, outcome());
    if (core_.lanes.is_barred(*transaction))
        return answer(transaction->waiters, errc::participant_ahead, outcome());
    if (core_.lanes.is_away(*transaction))
        return answer(transaction->waiters, errc::no_answer, outcome());
    if (core_.lanes.is_full(*transaction))
        return answer(transaction->waiters, errc::too_many_open, outcome());
    if (auto* const at = core_.partitions.choose())
        return begin(transaction, *at);
    if (core_.partitions.is_opening())
        early_.push_back(transaction);
    else
        answer(transaction->waiters, core_.partitions.unusable(), outcome());
}

void admission::begin(const running_ptr& transaction, partition& at) {
    MORTISE_CRASH_POINT("txn.begin");
    ++beginning_;
    ++at.beginning;
    core_.lanes.begin_waits(*transaction);
    transaction->term = at.term->id;
    core_.log->begin(
        *at.term,
        transaction->key,
        transaction->plan->encode(),
        transaction->begins,
        asio::bind_executor(
            context_.strand(),
            [this, kept = context_.keep(), transaction, &at](
                error_code failed, const log::begun& answer
            ) {
                --beginning_;
                --at.beginning;
                core_.lanes.end_waits(*transaction);
                begun(transaction, at, failed, answer);
                core_.partitions.leave_when_decided(at);
                core_.end_stop();
            }
        )
    );
}

void admission::begun(
    const running_ptr& transaction, partition& at, error_code failed, const log::begun& begun
) {
    if (failed) {
        answer(transaction->waiters, core_.log.reason_of(failed), outcome());
        if (!at.is_in(transaction->term))
            return;
        if (failed == errc::stepped_down)
            core_.partitions.step_down(at, failed);
        else if (!log_session::had_no_effect(failed))
            core_.log.fail(failed);
        return;
    }
    if (begun.joined)
        return join(transaction, begun);
    if (begun.number == 0) {
        if (!at.is_in(transaction->term))
            return answer(transaction->waiters, core_.partitions.unusable(), outcome());
        transaction->begins = log::begin_way::reserving;
        return begin(transaction, at);
    }
    MORTISE_CRASH_POINT("txn.begun");
    transaction->gid = {*core_.log.id(), begun.number};
    // The coordinator that decides there now finds it and cancels it.
    if (!at.is_in(transaction->term)) {
        const outcome lost(outcome::kind::unknown, transaction->gid, core_.partitions.unusable());
        return answer(transaction->waiters, {}, lost);
    }
    transaction->home = &at;
    core_.open.add(transaction);
    transaction->undecided = true;
    ++at.undecided;
    ++context_.count.begun;
    context_.report(txn_event::kind::begun, *transaction);
    steps next;
    if (transaction->withdrawn || context_.stopping()) {
        transaction->why = errc::withdrawn;
        transaction->fsm.abort(next);
        return core_.runs.carry_out(transaction, next);
    }
    context_.set_timer(transaction->timer, transaction->until, [this, transaction] {
        core_.runs.abort(*transaction, errc::deadline);
    });
    transaction->fsm.begin(next);
    core_.runs.carry_out(transaction, next);
    context_.arm();
}

// Answers with the outcome of the earlier transaction that has the same key.
void admission::join(const running_ptr& transaction, const log::begun& begun) {
    const txn::gid gid{*core_.log.id(), begun.number};
    if (begun.first.at != standing::open)
        return answer(transaction->waiters, {}, outcome_desk::outcome_in(gid, begun.first));
    const auto found = core_.open.find(begun.number);
    if (!found) {
        const outcome elsewhere(outcome::kind::unknown, gid, errc::standby);
        return answer(transaction->waiters, {}, elsewhere);
    }
    // Nobody knows when that one will be decided: it waits for a participant or for people.
    if (found->fsm.presuming() && (found->slow || found->for_people))
        return answer(transaction->waiters, {}, outcome_of(*found));
    auto& waiters = found->waiters;
    std::move(
        transaction->waiters.begin(), transaction->waiters.end(), std::back_inserter(waiters)
    );
    transaction->waiters.clear();
}

void admission::start_early() {
    for (const auto& each : take_early())
        start(each);
}

void admission::drop_early(error_code why) {
    for (const auto& each : take_early())
        answer(each->waiters, why, outcome());
}

std::vector<running_ptr> admission::take_early() noexcept {
    return std::exchange(early_, {});
}

}  // namespace mortise::txn::detail
