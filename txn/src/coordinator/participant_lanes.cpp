// SPDX-License-Identifier: BSL-1.0
#include "coordinator/participant_lanes.hpp"

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

std::size_t waiting_max_of(const coordinator_config& config) noexcept {
    return config.waiting_max != 0 ? config.waiting_max : config.open_max - config.open_max / 4;
}

}  // namespace

participant_lanes::participant_lanes(coordinator_core& core, coordinator_context& context)
    : coordinator_part(core, context), waiting_max_(waiting_max_of(context.config())) {
    const auto& config = context.config();
    for (const auto& [name, client] : config.participants) {
        const auto calls_max = std::max<std::size_t>(client->calls_at_once(), 1);
        const call_limits limits(calls_max, config.breaker_failures, config.retry_max);
        lanes_.try_emplace(name, name, limits, client);
    }
}

participant_lane* participant_lanes::find(std::string_view participant) {
    const auto found = lanes_.find(participant);
    return found == lanes_.end() ? nullptr : &found->second;
}

participant_lane& participant_lanes::of(const running& transaction, branch_number number) {
    return lanes_.find(transaction.plan->branches[number - 1].participant)->second;
}

// Reports a change once, even if operators have the participant tried several times meanwhile.
void participant_lanes::note_answer(participant_lane& at) {
    at.limits.answered();
    if (!std::exchange(at.broken, false))
        return;
    --context_.count.broken;
    txn_event event;
    event.type = txn_event::kind::participant_recovered;
    event.participant = at.name;
    context_.report(event);
}

void participant_lanes::note_failure(participant_lane& at, error_code why) {
    at.limits.failed(context_.now());
    if (at.broken || !at.limits.broken())
        return;
    at.broken = true;
    ++context_.count.broken;
    txn_event event;
    event.type = txn_event::kind::participant_broken;
    event.participant = at.name;
    event.code = why;
    context_.report(event);
}

template <class Condition>
bool participant_lanes::any_lane(const running& transaction, Condition holds) const {
    const auto& branches = transaction.plan->branches;
    return std::any_of(branches.begin(), branches.end(), [&](const auto& each) {
        const auto found = lanes_.find(each.participant);
        return found != lanes_.end() && holds(found->second);
    });
}

// Nothing new is begun with a participant that does not answer: a new transaction would only wait
// there, in the place of others. Confirms and cancels that are owed to it find out when it answers
// again; if there are none, a new transaction may.
bool participant_lanes::is_away(const running& transaction) const {
    return any_lane(transaction, [now = context_.now()](const participant_lane& at) {
        return at.limits.broken() &&
               (at.owed != 0 || !at.queue.empty() || !at.limits.may_call(now));
    });
}

bool participant_lanes::is_full(const running& transaction) const {
    return any_lane(transaction, [this](const participant_lane& at) {
        return at.waiters >= waiting_max_;
    });
}

bool participant_lanes::is_barred(const running& transaction) const {
    return any_lane(transaction, [](const participant_lane& at) { return !at.ahead.empty(); });
}

void participant_lanes::begin_waits(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i)
        begin_wait(transaction, static_cast<branch_number>(i + 1));
}

void participant_lanes::end_waits(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i)
        end_wait(transaction, static_cast<branch_number>(i + 1));
}

void participant_lanes::begin_wait(running& transaction, branch_number number) {
    auto& branch = transaction.branches[number - 1];
    if (std::exchange(branch.waits, true) || transaction.branches[branch.first].waiting++ != 0)
        return;
    if (auto* const at = find(transaction.plan->branches[number - 1].participant))
        ++at->waiters;
}

void participant_lanes::end_wait(running& transaction, branch_number number) {
    auto& branch = transaction.branches[number - 1];
    if (!std::exchange(branch.waits, false) || --transaction.branches[branch.first].waiting != 0)
        return;
    if (auto* const at = find(transaction.plan->branches[number - 1].participant))
        --at->waiters;
}

void participant_lanes::add_debt(running& transaction, branch_number number) {
    if (!std::exchange(transaction.branches[number - 1].owed, true))
        ++of(transaction, number).owed;
}

void participant_lanes::clear_debt(running& transaction, branch_number number) {
    if (std::exchange(transaction.branches[number - 1].owed, false))
        --of(transaction, number).owed;
}

void participant_lanes::bar(running& transaction, branch_number number) {
    transaction.branches[number - 1].bars = true;
    of(transaction, number).ahead.insert(transaction.gid.number);
}

// Allows new transactions with its participants again, because an operator has looked at it.
void participant_lanes::lift_bars(const running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (transaction.branches[i].bars)
            of(transaction, static_cast<branch_number>(i + 1)).ahead.clear();
    }
}

void participant_lanes::remove_bars(running& transaction) {
    for (std::size_t i = 0; i < transaction.branches.size(); ++i) {
        if (std::exchange(transaction.branches[i].bars, false))
            of(transaction, static_cast<branch_number>(i + 1)).ahead.erase(transaction.gid.number);
    }
}

void participant_lanes::clear_queues() noexcept {
    for (auto& [name, each] : lanes_)
        each.queue.clear();
}

}  // namespace mortise::txn::detail
