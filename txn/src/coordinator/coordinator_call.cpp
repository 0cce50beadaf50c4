// SPDX-License-Identifier: BSL-1.0
// Calls of participants: when they are made, repeated, and given up.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t text_max = 1'024;  // bytes of a participant's words that the log keeps

// Keeps the participant alive while it works on the call.
asio::awaitable<result<reply>> carry(std::shared_ptr<participant> whom, call call) {
    auto doing = whom->carry_out(std::move(call));
    co_return co_await std::move(doing);
}

// Whether an error stays the same however often the call is repeated.
bool is_final(error_code said) noexcept {
    return said == errc::late_try || said == errc::unknown_branch || said == errc::conflict ||
           said == errc::stale_epoch || said == errc::participant_ahead ||
           said == mortise::errc::stale_token || said == mortise::errc::foreign_domain ||
           said == mortise::errc::no_token || said == errc::unknown_participant;
}

// Takes the proof of a decision, so that no branch is confirmed or cancelled without one. The one
// exception is a presumed abort: the term in which the transaction began is over, so nobody can
// decide otherwise.
operation finishing_by(const log::durable_decision& proof) noexcept {
    return proof.confirm() ? operation::confirm : operation::cancel;
}

operation operation_for(const running& transaction, branch_number number) {
    if (!transaction.fsm.is_finishing(number))
        return operation::try_;
    if (transaction.fsm.presuming())
        return operation::cancel;
    MORTISE_ASSERT(transaction.proof && transaction.proof->gid() == transaction.gid);
    return finishing_by(*transaction.proof);
}

// Converts a participant's exception to a code and a text. Exceptions without a code say only that
// the call failed.
error_code code_of(const std::exception_ptr& thrown, std::string& text) {
    try {
        std::rethrow_exception(thrown);
    } catch (const boost::system::system_error& failed) {
        text = failed.what();
        return failed.code() ? failed.code() : error_code(errc::call_failed);
    } catch (const std::exception& failed) {
        text = failed.what();
    } catch (...) {
        text.clear();
    }
    return errc::call_failed;
}

std::string text_of(const reply::evidence& seen, const running& transaction) {
    std::string text = error_code(errc::participant_ahead).message() + " (it has seen";
    if (seen.epoch != 0)
        text += " epoch " + std::to_string(seen.epoch);
    if (seen.term != 0)
        text += " number " + std::to_string(transaction.gid.number) + " in another term";
    if (seen.ended_below != 0)
        text += " the end of all below number " + std::to_string(seen.ended_below);
    return text + ')';
}

std::string text_of(const result<reply>& got, const running& transaction, std::string thrown) {
    if (!got)
        return (thrown.empty() ? got.error().message() : std::move(thrown)).substr(0, text_max);
    if (got->what == reply::verdict::ahead)
        return text_of(got->seen, transaction);
    return got->what == reply::verdict::done ? std::string() : got->payload.substr(0, text_max);
}

call_view view_of(const result<reply>& got, std::string text) {
    call_view view;
    view.text = std::move(text);
    if (!got || got->what == reply::verdict::ahead)
        view.came = call_view::verdict::failed;
    else if (got->what == reply::verdict::refused)
        view.came = call_view::verdict::refused;
    else if (got->what == reply::verdict::again)
        view.came = call_view::verdict::again;
    return view;
}

}  // namespace

void coordinator_core::ask_participant(const running_ptr& transaction, branch_number number) {
    if (stopping_)
        return;  // the next coordinator finishes what is decided
    const auto found = lanes_.find(transaction->plan->branches[number - 1].participant);
    if (found == lanes_.end())
        return came(transaction, number, error_code(errc::unknown_participant), {});
    auto& lane = found->second;
    if (lane.judge.broken() && !lane.judge.may_call(now()) &&
        transaction->fsm.at() == core::tcc_fsm::phase::trying)
        return never_sent(transaction, number);
    transaction->branches[number - 1].queued = true;
    if (lane.judge.broken())
        is_slow(*transaction);
    lane.queue.push_back({transaction, number});
    pump(lane);
}

void coordinator_core::pump(client_lane& at) {
    while (!at.queue.empty()) {
        const auto head = at.queue.front();
        auto& branch = head.transaction->branches[head.branch - 1];
        if (gone(*head.transaction) || !branch.queued) {
            at.queue.pop_front();
            continue;
        }
        if (!at.judge.may_call(now())) {
            const auto next = at.judge.next(now());
            if (!at.timer)
                deadlines_.set(at.timer, next, [this, &at] {
                    at.timer.reset();
                    pump(at);
                });
            return arm();
        }
        at.queue.pop_front();
        branch.queued = false;
        make_call(at, head.transaction, head.branch);
    }
}

call coordinator_core::call_for(const running& transaction, branch_number number) const {
    const auto& plan = *transaction.plan;
    call request;
    request.what = operation_for(transaction, number);
    request.gid = transaction.gid;
    request.branch = number;
    request.attempt = transaction.branches[number - 1].attempts;
    request.epoch = transaction.home->term->epoch;
    request.term = transaction.term;
    request.participant = plan.branches[number - 1].participant;
    request.payload = plan.branches[number - 1].payload;
    request.locks = plan.locks;
    request.time_left = std::max(
        milliseconds(0), std::chrono::duration_cast<milliseconds>(transaction.until - now())
    );
    request.ended_below = ends_.of(request.participant);
    request.presumed = transaction.fsm.presuming() && request.what == operation::cancel;
    request.traceparent = plan.traceparent;
    return request;
}

void coordinator_core::make_call(
    client_lane& at, const running_ptr& transaction, branch_number number
) {
    auto& branch = transaction->branches[number - 1];
    ++branch.attempts;
    branch.flight = ++flights_;
    branch.sent = now();
    branch.stop = std::make_shared<call_stop>(seat_.executor());
    at.judge.begin();
    ++count_.calls;
    const auto flight = branch.flight;
    deadlines_.set(
        branch.timer,
        coro::saturating_add(branch.sent, config_.call_max),
        [this, transaction, number, flight] {
            if (const auto& late = transaction->branches[number - 1].stop)
                late->emit();
            called(transaction, number, flight, nullptr, error_code(errc::call_too_late));
        }
    );
    asio::co_spawn(
        branch.stop->strand(),
        carry(at.client, call_for(*transaction, number)),
        asio::bind_cancellation_slot(
            branch.stop->slot(),
            asio::bind_executor(
                seat_.strand(),
                [self = shared_from_this(), transaction, number, flight, kept = branch.stop](
                    const std::exception_ptr& thrown, result<reply> got
                ) { self->called(transaction, number, flight, thrown, std::move(got)); }
            )
        )
    );
    arm();
}

void coordinator_core::called(
    const running_ptr& transaction,
    branch_number number,
    std::uint64_t flight,
    const std::exception_ptr& thrown,
    result<reply> got
) {
    auto& branch = transaction->branches[number - 1];
    if (closed_ || branch.flight != flight)
        return;  // the call was given up before
    branch.flight = 0;
    deadlines_.clear(branch.timer);
    MORTISE_CRASH_POINT("txn.called");
    std::string text;
    if (thrown)
        got = code_of(thrown, text);
    text = text_of(got, *transaction, std::move(text));
    auto& [name, at] = *lanes_.find(transaction->plan->branches[number - 1].participant);
    if (got || is_final(got.error())) {
        at.judge.answered();
        note_answer(at, name, got);
    } else {
        ++count_.calls_failed;
        const bool was_broken = at.judge.broken();
        at.judge.failed(now());
        note_answer(at, name, got);
        is_slow(*transaction);
        if (at.judge.broken() && !was_broken) {
            for (const auto& each : at.queue)
                is_slow(*each.transaction);
            give_up_unsent(at);
        }
    }
    if (!gone(*transaction)) {
        auto view = view_of(got, text);
        view.what = operation_for(*transaction, number);
        view.attempt = branch.attempts;
        view.epoch = transaction->home->term->epoch;
        view.begun =
            std::chrono::duration_cast<std::chrono::microseconds>(branch.sent - transaction->since);
        view.took = std::chrono::duration_cast<std::chrono::microseconds>(now() - branch.sent);
        transaction->done.note(number, std::move(view));
        came(transaction, number, got, text);
        put_aside_later(transaction);
    }
    pump(at);
    arm();
}

void coordinator_core::came(
    const running_ptr& transaction,
    branch_number number,
    const result<reply>& got,
    const std::string& text
) {
    if (tells_of_an_old_copy(*transaction, number, got))
        return doubt(transaction, number, got);
    if (got && got->what == reply::verdict::ahead)  // but the log knows all that it has seen
        return came(transaction, number, error_code(errc::participant_ahead), text);
    if (transaction->fsm.is_finishing(number))
        finish_came(transaction, number, got);
    else
        try_came(transaction, number, got, text);
}

void coordinator_core::try_came(
    const running_ptr& transaction,
    branch_number number,
    const result<reply>& got,
    const std::string& text
) {
    auto& branch = transaction->branches[number - 1];
    const bool uncertain = branch.uncertain;
    const bool still_wanted = transaction->fsm.at() == core::tcc_fsm::phase::trying;
    steps next;
    if (got && got->what == reply::verdict::done) {
        transaction->fsm.tried(number, next);
    } else if (got && got->what == reply::verdict::refused) {
        if (still_wanted) {
            transaction->why = errc::refused;
            transaction->text = text;
        }
        // An earlier attempt may still take effect, or have taken it: the branch needs its cancel.
        uncertain ? transaction->fsm.try_failed(number, next)
                  : transaction->fsm.try_refused(number, next);
    } else if (!got && is_final(got.error())) {
        if (still_wanted) {
            transaction->why = errc::refused;
            transaction->text = text;
        }
        uncertain ? transaction->fsm.try_failed(number, next)
                  : transaction->fsm.try_refused(number, next);
    } else if (still_wanted && got) {
        --branch.attempts;  // the participant answers: that is no failure
        again_after(transaction, number, pause_asked_for(got->after, ++branch.agains));
    } else if (still_wanted && branch.attempts < transaction->try_attempts_max) {
        branch.uncertain = true;
        again_after(transaction, number, pause_after(branch.attempts));
    } else {
        if (still_wanted) {
            transaction->why = errc::no_answer;
            transaction->text = text;
        }
        transaction->fsm.try_failed(number, next);
    }
    carry_out(transaction, next);
}

void coordinator_core::finish_came(
    const running_ptr& transaction, branch_number number, const result<reply>& got
) {
    auto& branch = transaction->branches[number - 1];
    branch.unasked = false;
    if (got || is_final(got.error()))
        pays(*transaction, number - 1);
    else
        owes(*transaction, number);
    if (got && got->what == reply::verdict::done) {
        transaction->done.branches[number - 1].finished = true;
        steps next;
        transaction->fsm.finished(number, next);
        carry_out(transaction, next);
    } else if (got && got->what == reply::verdict::again) {
        is_slow(*transaction);
        again_after(transaction, number, pause_asked_for(got->after, ++branch.agains));
    } else if (got || is_final(got.error())) {
        stuck(transaction, number);
    } else {
        again_after(transaction, number, pause_after(branch.attempts));
        if ((branch.attempts & (branch.attempts - 1)) == 0)
            note(transaction);
    }
    if (wished_.erase(transaction->gid.number) != 0)
        read_wishes(0);
}

void coordinator_core::again_after(
    const running_ptr& transaction, branch_number number, clock::duration pause
) {
    auto& branch = transaction->branches[number - 1];
    deadlines_.set(branch.timer, coro::saturating_add(now(), pause), [this, transaction, number] {
        transaction->branches[number - 1].timer.reset();
        if (!gone(*transaction))
            ask_participant(transaction, number);
    });
    arm();
}

// Leaves the branch to operators: repeating the call would not help.
void coordinator_core::stuck(const running_ptr& transaction, branch_number number) {
    transaction->fsm.stuck(number);
    transaction->done.branches[number - 1].stuck = true;
    ++count_.stuck;
    tell_of(txn_event::kind::stuck, *transaction, number);
    waits_for_people(*transaction, true);
    is_slow(*transaction);
    note(transaction);
}

// Counts stuck transactions apart from the others, whose places they must not take.
void coordinator_core::waits_for_people(running& transaction, bool does) {
    if (std::exchange(transaction.for_people, does) == does)
        return;
    const auto change = [does](std::size_t& count) { does ? ++count : --count; };
    change(for_people_);
    if (transaction.resumed)
        change(resumed_for_people_);
}

// Reports a change once, even if operators have the participant tried several times meanwhile.
void coordinator_core::note_answer(
    client_lane& at, const std::string& name, const result<reply>& got
) {
    const bool answers = got || is_final(got.error());
    if (answers ? !at.broken : at.broken || !at.judge.broken())
        return;
    at.broken = !answers;
    answers ? --count_.broken : ++count_.broken;
    txn_event event;
    event.what =
        answers ? txn_event::kind::participant_recovered : txn_event::kind::participant_broken;
    event.participant = name;
    if (!answers)
        event.code = got.error();
    tell(event);
}

void coordinator_core::owes(running& transaction, branch_number number) {
    if (!std::exchange(transaction.branches[number - 1].owed, true))
        ++lanes_.find(transaction.plan->branches[number - 1].participant)->second.owed;
}

void coordinator_core::pays(running& transaction, std::size_t branch) {
    if (std::exchange(transaction.branches[branch].owed, false))
        --lanes_.find(transaction.plan->branches[branch].participant)->second.owed;
}

// Whether a participant of the transaction does not answer. Nothing new is begun with it: a new
// transaction would only wait there, in the place of others. Confirms and cancels that are owed to
// the participant find out when it answers again; if there are none, a new transaction may.
bool coordinator_core::is_away(const running& transaction) const {
    return std::any_of(
        transaction.plan->branches.begin(),
        transaction.plan->branches.end(),
        [&](auto& each) {
            const auto found = lanes_.find(each.participant);
            if (found == lanes_.end() || !found->second.judge.broken())
                return false;
            const auto& lane = found->second;
            return lane.owed != 0 || !lane.queue.empty() || !lane.judge.may_call(now());
        }
    );
}

void coordinator_core::give_up_unsent(client_lane& at) {
    const auto waiting = at.queue;
    for (const auto& each : waiting) {
        auto& branch = each.transaction->branches[each.branch - 1];
        if (gone(*each.transaction) || !branch.queued ||
            each.transaction->fsm.at() != core::tcc_fsm::phase::trying)
            continue;
        branch.queued = false;
        never_sent(each.transaction, each.branch);
    }
}

// Ends a try that was not sent: there is nothing to cancel, unless an earlier attempt was sent.
void coordinator_core::never_sent(const running_ptr& transaction, branch_number number) {
    transaction->why = errc::no_answer;
    transaction->text = transaction->plan->branches[number - 1].participant + " does not answer";
    steps next;
    if (transaction->branches[number - 1].uncertain)
        transaction->fsm.try_failed(number, next);
    else
        transaction->fsm.try_refused(number, next);
    carry_out(transaction, next);
}

// Drops tries that were not sent. Tells those under way to end, and awaits their answers.
void coordinator_core::stop_tries(const running_ptr& transaction, steps& next) {
    for (std::size_t i = 0; i < transaction->branches.size(); ++i) {
        auto& branch = transaction->branches[i];
        if (!transaction->fsm.is_trying(static_cast<branch_number>(i + 1)))
            continue;
        if (branch.flight != 0) {
            branch.stop->emit();
            continue;
        }
        const bool waiting = std::exchange(branch.queued, false) || branch.timer;
        deadlines_.clear(branch.timer);
        if (waiting)
            transaction->fsm.try_failed(static_cast<branch_number>(i + 1), next);
    }
}

}  // namespace mortise::txn::detail
