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

std::shared_ptr<const log::plan> plan_of(const transaction& what) {
    auto made = std::make_shared<log::plan>();
    made->branches = what.branches();
    made->traceparent = what.traceparent();
    for (const auto& each : what.leases()) {
        std::string name(each.name());
        // Each permit of a lock has tokens of its own, so its slot is part of the name.
        if (each.slot() != 0)
            name += '#' + std::to_string(each.slot());
        made->locks.emplace_back(std::move(name), each.token());
    }
    return made;
}

// Whether the failed request had no effect on the log, and may be repeated.
bool did_nothing(error_code failed) noexcept {
    return failed != mortise::errc::poisoned && failed != mortise::errc::commit_unknown &&
           failed != boost::asio::error::operation_aborted;
}

constexpr milliseconds ask_log_again{100};

}  // namespace

void coordinator_core::run(transaction what, outcome_handler handler) {
    if (seat_.deserted())
        return handler.complete(errc::stopped, outcome());
    if (const auto wrong = check(what))
        return handler.complete(wrong, outcome());
    auto made = std::make_shared<running>(plan_of(what), weak_from_this());
    if (what.keyed())
        made->key = what.key();
    made->leases = what.leases();
    made->try_attempts_max =
        what.try_attempts() == 0 ? config_.try_attempts_max : what.try_attempts();
    made->time_max = what.deadline() == milliseconds(0) ? config_.deadline : what.deadline();
    // Read the slot in the initiating call: afterwards nobody may touch it.
    coro::detail::install_cancel_proxy<running>(
        handler.release_slot(), seat_.strand(), std::weak_ptr<running>(made)
    );
    made->since = now();
    made->until = coro::saturating_add(made->since, made->time_max);
    made->waiters.push_back(std::move(handler));
    asio::dispatch(seat_.strand(), [self = shared_from_this(), made] { self->start(made); });
}

void coordinator_core::start(const running_ptr& what) {
    if (closed_ || stopping_)
        return answer(what->waiters, errc::stopped, outcome());
    if (open_.size() - for_people_ + early_.size() + beginning_ >= config_.open_max)
        return answer(what->waiters, errc::too_many_open, outcome());
    if (is_barred(*what))
        return answer(what->waiters, errc::participant_ahead, outcome());
    if (is_away(*what))
        return answer(what->waiters, errc::no_answer, outcome());
    if (auto* const at = choose())
        return begin(what, *at);
    if (opening_)
        early_.push_back(what);
    else
        answer(what->waiters, unusable(), outcome());
}

void coordinator_core::begin(const running_ptr& what, partition& at) {
    MORTISE_CRASH_POINT("txn.begin");
    ++beginning_;
    ++at.beginning;
    what->term = at.term->id;
    log_->begin(
        *at.term,
        what->key,
        what->what->encode(),
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(), what, &at](error_code failed, const log::begun& made) {
                --self->beginning_;
                --at.beginning;
                self->begun(what, at, failed, made);
                self->leave_when_decided(at);
                self->end_stop();
            }
        )
    );
}

void coordinator_core::begun(
    const running_ptr& what, partition& at, error_code failed, const log::begun& made
) {
    if (failed) {
        answer(what->waiters, failed, outcome());
        if (!at.is_in(what->term))
            return;
        if (failed == errc::stepped_down)
            step_down(at, failed);
        else if (!did_nothing(failed))
            log_failed(failed);
        return;
    }
    if (made.joined)
        return join(what, made);
    MORTISE_CRASH_POINT("txn.begun");
    what->which = {*log_id_, made.number};
    if (!at.is_in(what->term)) {  // the coordinator that decides there now finds and cancels it
        const outcome lost(outcome::kind::unknown, what->which, unusable());
        return answer(what->waiters, {}, lost);
    }
    what->home = &at;
    open_.emplace(made.number, what);
    what->undecided = true;
    ++at.undecided;
    ++count_.begun;
    ++count_.open;
    tell_of(txn_event::kind::begun, *what);
    steps next;
    if (what->withdrawn || stopping_) {
        what->why = errc::withdrawn;
        what->fsm.abort(next);
        return carry_out(what, next);
    }
    deadlines_.set(what->timer, what->until, [this, what] { abort(*what, errc::deadline); });
    what->fsm.begin(next);
    carry_out(what, next);
    arm();
}

// Answers with the outcome of the earlier transaction that has the same key.
void coordinator_core::join(const running_ptr& what, const log::begun& made) {
    const txn::gid which{*log_id_, made.number};
    if (made.first.at != standing::open)
        return answer(what->waiters, {}, outcome_in(which, made.first));
    const auto found = open_.find(made.number);
    if (found == open_.end()) {
        const outcome elsewhere(outcome::kind::unknown, which, errc::standby);
        return answer(what->waiters, {}, elsewhere);
    }
    auto& waiters = found->second->waiters;
    std::move(what->waiters.begin(), what->waiters.end(), std::back_inserter(waiters));
    what->waiters.clear();
}

bool coordinator_core::gone(const running& what) const {
    const auto found = open_.find(what.which.number);
    return found == open_.end() || found->second.get() != &what;
}

void coordinator_core::carry_out(const running_ptr& what, const steps& next) {
    for (const auto& each : next) {
        switch (each.what) {
        case action::send_try:
        case action::send_confirm:
        case action::send_cancel:
            what->branches[each.branch - 1].attempts = 0;
            what->branches[each.branch - 1].agains = 0;
            ask_participant(what, each.branch);
            break;
        case action::decide_confirm:
            decide(what, true);
            break;
        case action::decide_cancel:
            decide(what, false);
            break;
        case action::settle:
            end(what);
            break;
        }
    }
}

void coordinator_core::withdraw(running& what) {
    if (closed_)
        return;
    what.withdrawn = true;
    if (what.which.number != 0)
        abort(what, errc::withdrawn);
}

void coordinator_core::abort(running& what, errc why, std::string text) {
    const auto kept = what.shared_from_this();
    if (gone(what) || what.fsm.at() != core::tcc_fsm::phase::trying)
        return;
    what.why = why;
    what.text = std::move(text);
    steps next;
    what.fsm.abort(next);
    carry_out(kept, next);
    arm();
}

// Decides to cancel if a lock is already lost. A later loss does no harm, because the tokens of the
// locks fence what the tries have reserved.
void coordinator_core::decide(const running_ptr& what, bool confirm) {
    if (std::exchange(what->deciding, true))
        return;
    deadlines_.clear(what->timer);
    for (const auto& each : what->leases) {
        if (!confirm)
            break;
        if (each.check()) {
            confirm = false;
            what->why = errc::lock_lost;
            what->text = std::string(each.name());
        }
    }
    if (!confirm) {
        steps none;
        stop_tries(what, none);
        MORTISE_ASSERT(none.empty());
    }
    MORTISE_CRASH_POINT("txn.decide");
    if (confirm && MORTISE_PLANTED_NAME("confirm_before_commit"))
        return decide_too_late(what);
    log_->decide(
        *what->home->term,
        what->which.number,
        confirm,
        confirm ? 0 : what->why.value(),
        what->text,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(),
             what](error_code failed, std::optional<log::durable_decision> proof) {
                if (!self->gone(*what)) {
                    self->decided(what, failed, std::move(proof));
                    self->leave_when_decided(*what->home);
                }
                self->end_stop();
            }
        )
    );
}

// Contains a bug that the crash matrix must find: it sends confirms before the decision is durable.
void coordinator_core::decide_too_late(const running_ptr& what) {
    log::logged never;
    never.number = what->which.number;
    never.at = standing::confirmed;
    asio::post(seat_.strand(), [self = shared_from_this(), what, never] {
        if (!self->gone(*what))
            self->decided(what, {}, log::decision_log::proof_of(*what->home->term, never));
    });
    deadlines_.set(what->timer, now() + milliseconds(500), [this, what] {
        if (!log_ || !what->home->term)
            return;
        const auto ignore = [](error_code, const std::optional<log::durable_decision>&) {};
        log_->decide(*what->home->term, what->which.number, true, 0, "", ignore);
    });
}

void coordinator_core::decided(
    const running_ptr& what, error_code failed, std::optional<log::durable_decision> proof
) {
    what->deciding = false;
    if (failed == errc::stepped_down)
        return step_down(*what->home, failed);
    if (failed == errc::not_open)
        return was_decided(what);
    if (failed && !did_nothing(failed))
        return log_failed(failed);
    if (failed) {
        // The transaction stays undecided until the log has room again.
        deadlines_.set(what->timer, now() + ask_log_again, [this, what] {
            decide(what, what->fsm.confirming());
        });
        return arm();
    }
    MORTISE_CRASH_POINT("txn.decided");
    what->proof = std::move(proof);
    what->home->undecided -= std::exchange(what->undecided, false);
    ++(what->proof->confirm() ? count_.confirmed : count_.cancelled);
    tell_of(txn_event::kind::decided, *what);
    answer(what->waiters, {}, outcome_of(*what));
    MORTISE_CRASH_POINT("txn.answered");
    steps next;
    what->fsm.decided(what->proof->confirm(), next);
    carry_out(what, next);
    arm();
}

// Handles a decision that was already in the log: an operator decided it by hand, or what was read
// of it was old and it has ended since. Asks the log.
void coordinator_core::was_decided(const running_ptr& what) {
    for (const auto& each : std::exchange(what->settlers, {}))
        settle_by_log(each);
    open_.erase(what->which.number);
    drop(what, errc::not_open);
    recover();
    arm();
}

outcome coordinator_core::outcome_of(const running& what) const {
    const auto kind = !what.proof             ? outcome::kind::unknown
                      : what.proof->confirm() ? outcome::kind::confirmed
                                              : outcome::kind::cancelled;
    const auto why = kind == outcome::kind::confirmed ? error_code() : what.why;
    return {kind, what.which, why, what.text};
}

void coordinator_core::answer(
    std::vector<outcome_handler>& whom, error_code failed, const outcome& came
) {
    for (auto& each : std::exchange(whom, {}))
        each.complete(failed, came);
}

void coordinator_core::answer(
    std::vector<settler_ptr>& whom, error_code failed, const outcome& came
) {
    for (const auto& each : std::exchange(whom, {}))
        each->answer(failed, came);
}

void coordinator_core::end(const running_ptr& what) {
    MORTISE_CRASH_POINT("txn.end");
    what->ending = true;
    log_->note_progress(
        *what->home->term,
        what->which.number,
        what->done.encode(),
        true,
        asio::bind_executor(
            seat_.strand(),
            [self = shared_from_this(), what](error_code failed) {
                if (!self->gone(*what))
                    self->ended(what, failed);
            }
        )
    );
}

void coordinator_core::ended(const running_ptr& what, error_code failed) {
    if (failed == errc::stepped_down)
        return step_down(*what->home, failed);
    if (failed && !did_nothing(failed))
        return log_failed(failed);
    if (failed) {
        deadlines_.set(what->timer, now() + ask_log_again, [this, what] { end(what); });
        return arm();
    }
    MORTISE_CRASH_POINT("txn.ended");
    open_.erase(what->which.number);
    ends_during_reads_.add(what->which.number);
    ++count_.ended;
    --count_.open;
    tell_of(txn_event::kind::ended, *what);
    forget(*what);
    answer(what->settlers, {}, outcome_of(*what));
    housekeeping();
    recover();
    arm();
}

// Writes the progress of a transaction in trouble to the log, for operators.
void coordinator_core::note(const running_ptr& what) {
    if (what->ending)
        return;
    log_->note_progress(
        *what->home->term,
        what->which.number,
        what->done.encode(),
        false,
        with_log([self = shared_from_this(), what](error_code failed) {
            if (failed == errc::stepped_down && !self->gone(*what))
                self->step_down(*what->home, failed);
        })
    );
}

}  // namespace mortise::txn::detail
