// SPDX-License-Identifier: BSL-1.0
// The stages of a transaction: begun, tried, decided, finished, ended.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
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

void coordinator_core::run(transaction transaction, outcome_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, outcome());
    if (const auto wrong = check(transaction))
        return handler.complete(wrong, outcome());
    auto fresh = std::make_shared<running>(plan_of(transaction), weak_from_this());
    if (transaction.keyed())
        fresh->key = transaction.key();
    fresh->leases = transaction.leases();
    fresh->try_attempts_max =
        transaction.try_attempts() == 0 ? config_.try_attempts_max : transaction.try_attempts();
    fresh->time_max =
        transaction.deadline() == milliseconds(0) ? config_.deadline : transaction.deadline();
    // Read the slot in the initiating call: afterwards nobody may touch it.
    coro::detail::install_cancel_proxy<running>(
        handler.release_slot(), seat_.strand(), std::weak_ptr<running>(fresh)
    );
    fresh->since = now();
    fresh->until = coro::saturating_add(fresh->since, fresh->time_max);
    fresh->waiters.push_back(std::move(handler));
    asio::dispatch(seat_.strand(), [self = shared_from_this(), fresh] { self->start(fresh); });
}

void coordinator_core::start(const running_ptr& transaction) {
    if (closed_ || stopping_)
        return answer(transaction->waiters, errc::stopped, outcome());
    if (open_.size() - for_people_ + early_.size() + beginning_ >= config_.open_max)
        return answer(transaction->waiters, errc::too_many_open, outcome());
    if (is_barred(*transaction))
        return answer(transaction->waiters, errc::participant_ahead, outcome());
    if (is_away(*transaction))
        return answer(transaction->waiters, errc::no_answer, outcome());
    if (auto* const at = choose())
        return begin(transaction, *at);
    if (opening_)
        early_.push_back(transaction);
    else
        answer(transaction->waiters, unusable(), outcome());
}

void coordinator_core::begin(const running_ptr& transaction, partition& at) {
    MORTISE_CRASH_POINT("txn.begin");
    ++beginning_;
    ++at.beginning;
    transaction->term = at.term->id;
    log_->begin(
        *at.term,
        transaction->key,
        transaction->plan->encode(),
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             transaction,
             &at](error_code failed, const log::begun& answer) {
                --self->beginning_;
                --at.beginning;
                self->begun(transaction, at, failed, answer);
                self->leave_when_decided(at);
                self->end_stop();
            }
        )
    );
}

void coordinator_core::begun(
    const running_ptr& transaction, partition& at, error_code failed, const log::begun& begun
) {
    if (failed) {
        answer(transaction->waiters, failed, outcome());
        if (!at.is_in(transaction->term))
            return;
        if (failed == errc::stepped_down)
            step_down(at, failed);
        else if (!did_nothing(failed))
            log_failed(failed);
        return;
    }
    if (begun.joined)
        return join(transaction, begun);
    MORTISE_CRASH_POINT("txn.begun");
    transaction->gid = {*log_id_, begun.number};
    // The coordinator that decides there now finds it and cancels it.
    if (!at.is_in(transaction->term)) {
        const outcome lost(outcome::kind::unknown, transaction->gid, unusable());
        return answer(transaction->waiters, {}, lost);
    }
    transaction->home = &at;
    open_.emplace(begun.number, transaction);
    transaction->undecided = true;
    ++at.undecided;
    ++count_.begun;
    ++count_.open;
    tell_of(txn_event::kind::begun, *transaction);
    steps next;
    if (transaction->withdrawn || stopping_) {
        transaction->why = errc::withdrawn;
        transaction->fsm.abort(next);
        return carry_out(transaction, next);
    }
    deadlines_.set(transaction->timer, transaction->until, [this, transaction] {
        abort(*transaction, errc::deadline);
    });
    transaction->fsm.begin(next);
    carry_out(transaction, next);
    arm();
}

// Answers with the outcome of the earlier transaction that has the same key.
void coordinator_core::join(const running_ptr& transaction, const log::begun& begun) {
    const txn::gid gid{*log_id_, begun.number};
    if (begun.first.at != standing::open)
        return answer(transaction->waiters, {}, outcome_in(gid, begun.first));
    const auto found = open_.find(begun.number);
    if (found == open_.end()) {
        const outcome elsewhere(outcome::kind::unknown, gid, errc::standby);
        return answer(transaction->waiters, {}, elsewhere);
    }
    auto& waiters = found->second->waiters;
    std::move(
        transaction->waiters.begin(), transaction->waiters.end(), std::back_inserter(waiters)
    );
    transaction->waiters.clear();
}

bool coordinator_core::gone(const running& transaction) const {
    const auto found = open_.find(transaction.gid.number);
    return found == open_.end() || found->second.get() != &transaction;
}

void coordinator_core::carry_out(const running_ptr& transaction, const steps& next) {
    for (const auto& each : next) {
        switch (each.what) {
        case action::send_try:
        case action::send_confirm:
        case action::send_cancel:
            transaction->branches[each.branch - 1].attempts = 0;
            transaction->branches[each.branch - 1].agains = 0;
            ask_participant(transaction, each.branch);
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

void coordinator_core::withdraw(running& transaction) {
    if (closed_)
        return;
    transaction.withdrawn = true;
    if (transaction.gid.number != 0)
        abort(transaction, errc::withdrawn);
}

void coordinator_core::abort(running& transaction, errc why, std::string text) {
    const auto kept = transaction.shared_from_this();
    if (gone(transaction) || transaction.fsm.at() != core::tcc_fsm::phase::trying)
        return;
    transaction.why = why;
    transaction.text = std::move(text);
    steps next;
    transaction.fsm.abort(next);
    carry_out(kept, next);
    arm();
}

// Decides to cancel if a lock is already lost. A later loss does no harm, because the tokens of the
// locks fence what the tries have reserved.
void coordinator_core::decide(const running_ptr& transaction, bool confirm) {
    if (std::exchange(transaction->deciding, true))
        return;
    deadlines_.clear(transaction->timer);
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
        stop_tries(transaction, none);
        MORTISE_ASSERT(none.empty());
    }
    MORTISE_CRASH_POINT("txn.decide");
    if (confirm && MORTISE_PLANTED_NAME("confirm_before_commit"))
        return decide_too_late(transaction);
    log_->decide(
        *transaction->home->term,
        transaction->gid.number,
        confirm,
        confirm ? 0 : transaction->why.value(),
        transaction->text,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             transaction](error_code failed, std::optional<log::durable_decision> proof) {
                if (!self->gone(*transaction)) {
                    self->decided(transaction, failed, std::move(proof));
                    self->leave_when_decided(*transaction->home);
                }
                self->end_stop();
            }
        )
    );
}

// Contains a bug that the crash matrix must find: it sends confirms before the decision is durable.
void coordinator_core::decide_too_late(const running_ptr& transaction) {
    log::logged never;
    never.number = transaction->gid.number;
    never.at = standing::confirmed;
    asio::post(seat_.strand(), [self = shared_from_this(), transaction, never] {
        if (!self->gone(*transaction))
            self->decided(
                transaction, {}, log::decision_log::proof_of(*transaction->home->term, never)
            );
    });
    deadlines_.set(transaction->timer, now() + milliseconds(500), [this, transaction] {
        if (!log_ || !transaction->home->term)
            return;
        const auto ignore = [](error_code, const std::optional<log::durable_decision>&) {};
        log_->decide(*transaction->home->term, transaction->gid.number, true, 0, "", ignore);
    });
}

void coordinator_core::decided(
    const running_ptr& transaction, error_code failed, std::optional<log::durable_decision> proof
) {
    transaction->deciding = false;
    if (failed == errc::stepped_down)
        return step_down(*transaction->home, failed);
    if (failed == errc::not_open)
        return was_decided(transaction);
    if (failed && !did_nothing(failed))
        return log_failed(failed);
    if (failed) {
        // The transaction stays undecided until the log has room again.
        deadlines_.set(transaction->timer, now() + ask_log_again, [this, transaction] {
            decide(transaction, transaction->fsm.confirming());
        });
        return arm();
    }
    MORTISE_CRASH_POINT("txn.decided");
    transaction->proof = std::move(proof);
    transaction->home->undecided -= std::exchange(transaction->undecided, false);
    ++(transaction->proof->confirm() ? count_.confirmed : count_.cancelled);
    tell_of(txn_event::kind::decided, *transaction);
    answer(transaction->waiters, {}, outcome_of(*transaction));
    MORTISE_CRASH_POINT("txn.answered");
    steps next;
    transaction->fsm.decided(transaction->proof->confirm(), next);
    carry_out(transaction, next);
    arm();
}

// Handles a decision that was already in the log: an operator decided it by hand, or what was read
// of it was old and it has ended since. Asks the log.
void coordinator_core::was_decided(const running_ptr& transaction) {
    for (const auto& each : std::exchange(transaction->settlers, {}))
        settle_by_log(each);
    open_.erase(transaction->gid.number);
    drop(transaction, errc::not_open);
    recover();
    arm();
}

outcome coordinator_core::outcome_of(const running& transaction) const {
    const auto kind = !transaction.proof             ? outcome::kind::unknown
                      : transaction.proof->confirm() ? outcome::kind::confirmed
                                                     : outcome::kind::cancelled;
    const auto why = kind == outcome::kind::confirmed ? error_code() : transaction.why;
    return {kind, transaction.gid, why, transaction.text};
}

void coordinator_core::answer(
    std::vector<outcome_handler>& waiters, error_code failed, const outcome& settled
) {
    for (auto& each : std::exchange(waiters, {}))
        each.complete(failed, settled);
}

void coordinator_core::answer(
    std::vector<settler_ptr>& waiters, error_code failed, const outcome& settled
) {
    for (const auto& each : std::exchange(waiters, {}))
        each->answer(failed, settled);
}

void coordinator_core::end(const running_ptr& transaction) {
    MORTISE_CRASH_POINT("txn.end");
    transaction->ending = true;
    log_->note_progress(
        *transaction->home->term,
        transaction->gid.number,
        transaction->done.encode(),
        true,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(), transaction](error_code failed) {
                if (!self->gone(*transaction))
                    self->ended(transaction, failed);
            }
        )
    );
}

void coordinator_core::ended(const running_ptr& transaction, error_code failed) {
    if (failed == errc::stepped_down)
        return step_down(*transaction->home, failed);
    if (failed && !did_nothing(failed))
        return log_failed(failed);
    if (failed) {
        deadlines_.set(transaction->timer, now() + ask_log_again, [this, transaction] {
            end(transaction);
        });
        return arm();
    }
    MORTISE_CRASH_POINT("txn.ended");
    open_.erase(transaction->gid.number);
    ends_during_reads_.add(transaction->gid.number);
    ++count_.ended;
    --count_.open;
    tell_of(txn_event::kind::ended, *transaction);
    forget(*transaction);
    answer(transaction->settlers, {}, outcome_of(*transaction));
    housekeeping();
    recover();
    arm();
}

// Writes the progress of a transaction in trouble to the log, for operators.
void coordinator_core::note(const running_ptr& transaction) {
    if (transaction->ending)
        return;
    log_->note_progress(
        *transaction->home->term,
        transaction->gid.number,
        transaction->done.encode(),
        false,
        with_log([self = shared_from_this(), transaction](error_code failed) {
            if (failed == errc::stepped_down && !self->gone(*transaction))
                self->step_down(*transaction->home, failed);
        })
    );
}

}  // namespace mortise::txn::detail
