// SPDX-License-Identifier: BSL-1.0
// The stages of a transaction that has begun: tried, decided, finished, ended.
#include "coordinator/runs.hpp"

#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "planted_bugs.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace mortise::txn::detail {
namespace {

constexpr std::chrono::milliseconds ask_log_again{100};

}  // namespace

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
    if (!confirm && !transaction->fsm.alone()) {
        steps none;
        core_.calls.stop_tries(transaction, none);
        MORTISE_ASSERT(none.empty());
    }
    MORTISE_CRASH_POINT("txn.decide");
    if (confirm && planted_bugs::confirm_before_commit(core_, transaction))
        return;
    auto then = asio::bind_executor(
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
    );
    const auto& term = *transaction->home->term;
    const auto number = transaction->gid.number;
    const int why = confirm ? 0 : transaction->why.value();
    auto text = confirm ? std::string() : transaction->text;
    if (transaction->fsm.alone())
        return core_.log->note_decision(term, number, confirm, why, text, std::move(then));
    // A branch that has finished in its try must not be called after a crash.
    const bool any = std::any_of(
        transaction->done.branches.begin(),
        transaction->done.branches.end(),
        [](const auto& each) { return each.finished; }
    );
    auto progress = any && !planted_bugs::decide_without_progress() ? transaction->done.encode()
                                                                    : std::string();
    core_.log->decide(
        term, number, confirm, why, std::move(text), std::move(progress), std::move(then)
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
    if (failed && !log_session::had_no_effect(failed))
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
    for (auto& each : transaction->branches)
        each.work = nullptr;
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
    if (failed && !log_session::had_no_effect(failed))
        return core_.log.fail(failed);
    if (failed) {
        context_.set_timer(transaction->timer, context_.now() + ask_log_again, [this, transaction] {
            end(transaction);
        });
        return context_.arm();
    }
    MORTISE_CRASH_POINT("txn.ended");
    core_.open.remove(*transaction);
    core_.lanes.remove_bars(*transaction);
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

}  // namespace mortise::txn::detail
