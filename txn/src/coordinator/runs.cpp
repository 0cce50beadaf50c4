// SPDX-License-Identifier: BSL-1.0
// The stages of a transaction: begun, tried, decided, finished, ended.
#include "coordinator/runs.hpp"

#include "coordinator/coordinator_core.hpp"
#include "log/plan.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"
#include "planted_bugs.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <algorithm>
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

// Whether the failed request had no effect on the log, and may be repeated.
bool did_nothing(error_code failed) noexcept {
    return failed != mortise::errc::poisoned && failed != mortise::errc::commit_unknown &&
           failed != boost::asio::error::operation_aborted;
}

constexpr milliseconds ask_log_again{100};

}  // namespace

void runs::run(transaction transaction, outcome_handler handler) {
    if (context_.deserted())
        return handler.complete(errc::stopped, outcome());
    if (const auto wrong = check(transaction))
        return handler.complete(wrong, outcome());
    auto fresh = std::make_shared<running>(plan_of(transaction), core_.weak_from_this());
    if (transaction.keyed())
        fresh->key = transaction.key();
    fresh->leases = transaction.leases();
    fresh->try_attempts_max = transaction.try_attempts() == 0 ? context_.config().try_attempts_max
                                                              : transaction.try_attempts();
    fresh->time_max = transaction.deadline() == milliseconds(0) ? context_.config().deadline
                                                                : transaction.deadline();
    // Read the slot in the initiating call: afterwards nobody may touch it.
    coro::detail::install_cancel_proxy<running>(
        handler.release_slot(), context_.strand(), std::weak_ptr<running>(fresh)
    );
    fresh->since = context_.now();
    fresh->until = coro::saturating_add(fresh->since, fresh->time_max);
    fresh->waiters.push_back(std::move(handler));
    asio::dispatch(context_.strand(), [this, kept = context_.keep(), fresh] { start(fresh); });
}

error_code runs::check(const transaction& transaction) const {
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
        if (!core_.calls.knows(branches[i].participant))
            return errc::unknown_participant;
        if (branches[i].payload.size() > context_.config().payload_max)
            return errc::payload_too_large;
        for (const auto before : branches[i].after) {
            if (before == 0 || before > i)
                return errc::bad_order;
        }
    }
    return {};
}

void runs::start(const running_ptr& transaction) {
    if (context_.closed() || context_.stopping())
        return answer(transaction->waiters, errc::stopped, outcome());
    if (core_.open.in_work() + early_.size() + beginning_ >= context_.config().open_max)
        return answer(transaction->waiters, errc::too_many_open, outcome());
    if (core_.calls.is_barred(*transaction))
        return answer(transaction->waiters, errc::participant_ahead, outcome());
    if (core_.calls.is_away(*transaction))
        return answer(transaction->waiters, errc::no_answer, outcome());
    if (core_.calls.is_full(*transaction))
        return answer(transaction->waiters, errc::too_many_open, outcome());
    if (auto* const at = core_.partitions.choose())
        return begin(transaction, *at);
    if (core_.partitions.is_opening())
        early_.push_back(transaction);
    else
        answer(transaction->waiters, core_.partitions.unusable(), outcome());
}

void runs::begin(const running_ptr& transaction, partition& at) {
    MORTISE_CRASH_POINT("txn.begin");
    ++beginning_;
    ++at.beginning;
    core_.calls.begin_waits(*transaction);
    transaction->term = at.term->id;
    core_.log->begin(
        *at.term,
        transaction->key,
        transaction->plan->encode(),
        asio::bind_executor(
            context_.strand(),
            [this, kept = context_.keep(), transaction, &at](
                error_code failed, const log::begun& answer
            ) {
                --beginning_;
                --at.beginning;
                core_.calls.end_waits(*transaction);
                begun(transaction, at, failed, answer);
                core_.partitions.leave_when_decided(at);
                core_.end_stop();
            }
        )
    );
}

void runs::begun(
    const running_ptr& transaction, partition& at, error_code failed, const log::begun& begun
) {
    if (failed) {
        answer(transaction->waiters, core_.log.reason_of(failed), outcome());
        if (!at.is_in(transaction->term))
            return;
        if (failed == errc::stepped_down)
            core_.partitions.step_down(at, failed);
        else if (!did_nothing(failed))
            core_.log.fail(failed);
        return;
    }
    if (begun.joined)
        return join(transaction, begun);
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
        return carry_out(transaction, next);
    }
    context_.set_timer(transaction->timer, transaction->until, [this, transaction] {
        abort(*transaction, errc::deadline);
    });
    transaction->fsm.begin(next);
    carry_out(transaction, next);
    context_.arm();
}

// Answers with the outcome of the earlier transaction that has the same key.
void runs::join(const running_ptr& transaction, const log::begun& begun) {
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

void runs::carry_out(const running_ptr& transaction, const steps& next) {
    for (const auto& each : next) {
        switch (each.type) {
        case action::send_try:
        case action::send_confirm:
        case action::send_cancel:
            transaction->branches[each.branch - 1].attempts = 0;
            transaction->branches[each.branch - 1].agains = 0;
            core_.calls.send(transaction, each.branch);
            break;
        case action::decide_confirm:
            decide(transaction, true);
            break;
        case action::decide_cancel:
            decide(transaction, false);
            break;
        case action::settle:
            end(transaction);
            break;
        }
    }
}

void runs::withdraw(running& transaction) {
    if (context_.closed())
        return;
    transaction.withdrawn = true;
    if (transaction.gid.number != 0)
        abort(transaction, errc::withdrawn);
}

void runs::abort(running& transaction, errc why, std::string text) {
    const auto kept = transaction.shared_from_this();
    if (!core_.open.holds(transaction) || transaction.fsm.at() != core::tcc_fsm::phase::trying)
        return;
    transaction.why = why;
    transaction.text = std::move(text);
    steps next;
    transaction.fsm.abort(next);
    carry_out(kept, next);
    context_.arm();
}

// Decides to cancel if a lock is already lost. A later loss does no harm, because the tokens of the
// locks fence what the tries have reserved.
void runs::decide(const running_ptr& transaction, bool confirm) {
    if (std::exchange(transaction->deciding, true))
        return;
    context_.clear_timer(transaction->timer);
    for (const auto& each : transaction->leases) {
        if (!confirm)
            break;
        if (each.check()) {
            confirm = false;
            transaction->why = errc::lock_lost;
            transaction->text = std::string(each.name());
        }
    }
    if (!confirm) {
        steps none;
        core_.calls.stop_tries(transaction, none);
        MORTISE_ASSERT(none.empty());
    }
    MORTISE_CRASH_POINT("txn.decide");
    if (confirm && planted_bugs::confirm_before_commit(core_, transaction))
        return;
    core_.log->decide(
        *transaction->home->term,
        transaction->gid.number,
        confirm,
        confirm ? 0 : transaction->why.value(),
        transaction->text,
        asio::bind_executor(
            context_.strand(),
            [this,
             kept = context_.keep(),
             transaction](error_code failed, std::optional<log::durable_decision> proof) {
                if (core_.open.holds(*transaction)) {
                    decided(transaction, failed, std::move(proof));
                    core_.partitions.leave_when_decided(*transaction->home);
                }
                core_.end_stop();
            }
        )
    );
}

void runs::decided(
    const running_ptr& transaction, error_code failed, std::optional<log::durable_decision> proof
) {
    transaction->deciding = false;
    if (failed == errc::stepped_down)
        return core_.partitions.step_down(*transaction->home, failed);
    if (failed == errc::not_open)
        return was_decided(transaction);
    if (failed && !did_nothing(failed))
        return core_.log.fail(failed);
    if (failed) {
        // The transaction stays undecided until the log has room again.
        context_.set_timer(transaction->timer, context_.now() + ask_log_again, [this, transaction] {
            decide(transaction, transaction->fsm.confirming());
        });
        return context_.arm();
    }
    MORTISE_CRASH_POINT("txn.decided");
    transaction->proof = std::move(proof);
    transaction->home->undecided -= std::exchange(transaction->undecided, false);
    ++(transaction->proof->confirm() ? context_.count.confirmed : context_.count.cancelled);
    context_.report(txn_event::kind::decided, *transaction);
    answer(transaction->waiters, {}, outcome_of(*transaction));
    MORTISE_CRASH_POINT("txn.answered");
    steps next;
    transaction->fsm.decided(transaction->proof->confirm(), next);
    carry_out(transaction, next);
    context_.arm();
}

// Handles a decision that was already in the log: an operator decided it by hand, or what was read
// of it was old and it has ended since. Asks the log.
void runs::was_decided(const running_ptr& transaction) {
    for (const auto& each : std::exchange(transaction->settlers, {}))
        core_.outcomes.settle_by_log(each);
    core_.open.remove(*transaction);
    drop(transaction, errc::not_open);
    core_.recovery.recover();
    context_.arm();
}

void runs::end(const running_ptr& transaction) {
    MORTISE_CRASH_POINT("txn.end");
    transaction->ending = true;
    core_.log->note_progress(
        *transaction->home->term,
        transaction->gid.number,
        transaction->done.encode(),
        true,
        asio::bind_executor(
            context_.strand(),
            [this, kept = context_.keep(), transaction](error_code failed) {
                if (core_.open.holds(*transaction))
                    ended(transaction, failed);
            }
        )
    );
}

void runs::ended(const running_ptr& transaction, error_code failed) {
    if (failed == errc::stepped_down)
        return core_.partitions.step_down(*transaction->home, failed);
    if (failed && !did_nothing(failed))
        return core_.log.fail(failed);
    if (failed) {
        context_.set_timer(transaction->timer, context_.now() + ask_log_again, [this, transaction] {
            end(transaction);
        });
        return context_.arm();
    }
    MORTISE_CRASH_POINT("txn.ended");
    core_.open.remove(*transaction);
    core_.calls.remove_bars(*transaction);
    core_.open.note_end(transaction->gid.number);
    ++context_.count.ended;
    context_.report(txn_event::kind::ended, *transaction);
    answer(transaction->settlers, {}, outcome_of(*transaction));
    core_.recovery.note_end();
    core_.recovery.recover();
    context_.arm();
}

void runs::note(const running_ptr& transaction) {
    if (transaction->ending)
        return;
    core_.log->note_progress(
        *transaction->home->term,
        transaction->gid.number,
        transaction->done.encode(),
        false,
        core_.log.bound([this, kept = context_.keep(), transaction](error_code failed) {
            if (failed == errc::stepped_down && core_.open.holds(*transaction))
                core_.partitions.step_down(*transaction->home, failed);
        })
    );
}

void runs::drop(const running_ptr& transaction, error_code why) {
    auto event = context_.event_of(txn_event::kind::let_go, *transaction);
    event.code = why;
    context_.report(event);
    release(transaction, why);
}

void runs::release(const running_ptr& transaction, error_code why) {
    context_.clear_timer(transaction->timer);
    core_.calls.give_up(*transaction);
    transaction->home->undecided -= std::exchange(transaction->undecided, false);
    answer(transaction->waiters, {}, outcome(outcome::kind::unknown, transaction->gid, why));
    answer(transaction->settlers, why, outcome_of(*transaction));
}

void runs::drop_all(error_code why) {
    for (const auto& [number, transaction] : core_.open.take_all())
        drop(transaction, why);
    core_.partitions.stop_waiting(core_.partitions.unusable());
}

void runs::drop_all_in(const partition& home, error_code why) {
    for (const auto& each : core_.open.take_all_in(home))
        drop(each, why);
}

void runs::start_early() {
    for (const auto& each : take_early())
        start(each);
}

void runs::drop_early(error_code why) {
    for (const auto& each : take_early())
        answer(each->waiters, why, outcome());
}

std::vector<running_ptr> runs::take_early() noexcept {
    return std::exchange(early_, {});
}

}  // namespace mortise::txn::detail
