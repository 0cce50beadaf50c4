// SPDX-License-Identifier: BSL-1.0
#include "coordinator/reply_judge.hpp"

#include "coordinator/coordinator_core.hpp"
#include "log/log_terms.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/detail/defaults.hpp"

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds asked_floor_max{1'000};
constexpr milliseconds asked_pause_max = std::chrono::hours(24);

}  // namespace

reply_judge::reply_judge(coordinator_core& core, coordinator_context& context)
    : coordinator_part(core, context),
      jitter_(mortise::detail::seed_or_random(context.config().jitter_seed)) {}

void reply_judge::judge(
    const running_ptr& transaction,
    branch_number number,
    const result<reply>& got,
    const std::string& text
) {
    if (contradicts_log(*transaction, number, got))
        return doubt(transaction, number, got);
    if (got && got->type == reply::verdict::ahead)  // but the log knows all that it has seen
        return judge(transaction, number, error_code(errc::participant_ahead), text);
    if (transaction->fsm.is_finishing(number))
        judge_finish(transaction, number, got);
    else
        judge_try(transaction, number, got, text);
}

void reply_judge::judge_try(
    const running_ptr& transaction,
    branch_number number,
    const result<reply>& got,
    const std::string& text
) {
    auto& branch = transaction->branches[number - 1];
    const bool uncertain = branch.uncertain;
    const bool still_wanted = transaction->fsm.at() == core::tcc_fsm::phase::trying;
    steps next;
    if (got && got->type == reply::verdict::done) {
        const bool finished = got->finished || transaction->fsm.alone();
        transaction->done.branches[number - 1].finished = finished;
        finished ? transaction->fsm.tried_for_good(number, next)
                 : transaction->fsm.tried(number, next);
    } else if (got && got->type == reply::verdict::refused) {
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
        repeat_after(transaction, number, pause_asked_for(got->after, ++branch.agains));
    } else if (still_wanted && branch.attempts < transaction->try_attempts_max) {
        branch.uncertain = true;
        repeat_after(transaction, number, pause_after(branch.attempts));
    } else {
        if (still_wanted) {
            transaction->why = errc::no_answer;
            transaction->text = text;
        }
        transaction->fsm.try_failed(number, next);
    }
    core_.runs.carry_out(transaction, next);
}

void reply_judge::judge_finish(
    const running_ptr& transaction, branch_number number, const result<reply>& got
) {
    auto& branch = transaction->branches[number - 1];
    branch.unasked = false;
    if (got || is_final(got.error()))
        core_.lanes.clear_debt(*transaction, number);
    else
        core_.lanes.add_debt(*transaction, number);
    const bool was_committed = !got && got.error() == errc::conflict && transaction->fsm.alone() &&
                               transaction->fsm.presuming();
    if (was_committed || (got && got->type == reply::verdict::done)) {
        transaction->done.branches[number - 1].finished = true;
        steps next;
        was_committed ? transaction->fsm.was_committed(number, next)
                      : transaction->fsm.finished(number, next);
        core_.runs.carry_out(transaction, next);
    } else if (got && got->type == reply::verdict::again) {
        core_.recovery.mark_slow(*transaction);
        repeat_after(transaction, number, pause_asked_for(got->after, ++branch.agains));
    } else if (got || is_final(got.error())) {
        leave_stuck(transaction, number);
    } else {
        repeat_after(transaction, number, pause_after(branch.attempts));
        if ((branch.attempts & (branch.attempts - 1)) == 0)
            core_.runs.note(transaction);
    }
    core_.orders.read_if_awaited(*transaction);
}

void reply_judge::repeat_after(
    const running_ptr& transaction, branch_number number, clock::duration pause
) {
    auto& branch = transaction->branches[number - 1];
    core_.lanes.begin_wait(*transaction, number);
    context_.set_timer(
        branch.timer,
        coro::saturating_add(context_.now(), pause),
        [this, transaction, number] {
            transaction->branches[number - 1].timer.reset();
            if (core_.open.holds(*transaction))
                core_.calls.send(transaction, number);
        }
    );
    context_.arm();
}

// Leaves the branch to operators: repeating the call would not help.
void reply_judge::leave_stuck(const running_ptr& transaction, branch_number number) {
    transaction->fsm.stuck(number);
    transaction->done.branches[number - 1].stuck = true;
    ++context_.count.stuck;
    context_.report(txn_event::kind::stuck, *transaction, number);
    core_.open.mark_stuck(*transaction, true);
    core_.recovery.mark_slow(*transaction);
    core_.runs.note(transaction);
}

// Ends a try that was not sent: there is nothing to cancel, unless an earlier attempt was sent.
void reply_judge::give_up_try(const running_ptr& transaction, branch_number number) {
    transaction->why = errc::no_answer;
    transaction->text = transaction->plan->branches[number - 1].participant + " does not answer";
    steps next;
    if (transaction->branches[number - 1].uncertain)
        transaction->fsm.try_failed(number, next);
    else
        transaction->fsm.try_refused(number, next);
    core_.runs.carry_out(transaction, next);
}

bool reply_judge::contradicts_log(
    const running& transaction, branch_number number, const result<reply>& got
) const {
    if (got) {
        return got->type == reply::verdict::ahead &&
               (got->seen.epoch > transaction.home->term->epoch ||
                (got->seen.term != 0 && got->seen.term != transaction.term) ||
                got->seen.ended_below > transaction.gid.number);
    }
    if (transaction.fsm.presuming() && transaction.fsm.is_finishing(number))
        return got.error() == errc::conflict && !transaction.fsm.alone();
    // Nobody else can have cancelled or ended it before its time is up.
    return transaction.fsm.at() == core::tcc_fsm::phase::trying &&
           context_.now() < transaction.until &&
           (got.error() == errc::late_try || got.error() == errc::conflict);
}

// Asks the log first if the participant saw a higher epoch: another coordinator may have taken
// over, and then the log says so.
void reply_judge::doubt(
    const running_ptr& transaction, branch_number number, const result<reply>& got
) {
    auto& at = *transaction->home;
    if (!got || got->seen.epoch <= at.term->epoch)
        return suspect(transaction, number);
    core_.log->ask(
        [by = *at.term](db::connection& on) { return log::log_terms::decides(on, by); },
        core_.log.bound([this, kept = context_.keep(), transaction, number, &at, id = at.term->id](
                            error_code failed, bool ours
                        ) {
            if (!at.is_in(id) || context_.closed())
                return;
            if (failed)
                return core_.log.fail(failed);
            if (!ours)
                return core_.partitions.step_down(at, errc::stepped_down);
            if (core_.open.holds(*transaction))
                suspect(transaction, number);
            core_.partitions.leave_when_decided(at);
            core_.end_stop();
        })
    );
}

// Leaves an undecided transaction undecided: by this log nobody can say what became of its number.
void reply_judge::suspect(const running_ptr& transaction, branch_number number) {
    core_.open.mark_suspicious(*transaction);
    core_.lanes.bar(*transaction, number);
    transaction->why = errc::participant_ahead;
    context_.report(txn_event::kind::ahead, *transaction, number);
    if (transaction->fsm.is_finishing(number)) {
        leave_stuck(transaction, number);
    } else if (transaction->fsm.at() == core::tcc_fsm::phase::trying) {
        steps next;
        context_.clear_timer(transaction->timer);
        transaction->home->undecided -= std::exchange(transaction->undecided, false);
        transaction->fsm.contradicted(number, next);
        core_.calls.stop_tries(transaction, next);
        transaction->done.branches[number - 1].stuck = true;
        ++context_.count.stuck;
        context_.report(txn_event::kind::stuck, *transaction, number);
        core_.open.mark_stuck(*transaction, true);
        core_.runs.note(transaction);
        core_.runs.carry_out(transaction, next);
    } else {
        steps next;
        transaction->fsm.try_failed(number, next);  // its cancel gets the same answer
        core_.runs.carry_out(transaction, next);
    }
    if (transaction->fsm.presuming())
        answer(transaction->waiters, {}, outcome_of(*transaction));
}

// Draws a random pause below a bound that doubles: calls that failed together do not come back
// together, and none comes back at once.
clock::duration reply_judge::pause_after(std::uint32_t attempts) {
    const auto& config = context_.config();
    const auto bound = coro::backoff_bound({config.retry_first, config.retry_max}, attempts);
    const auto least = std::min<clock::duration>(bound, config.retry_first) / 4;
    return jitter_.draw(least, bound);
}

// Limits the pause that a participant asks for. If it asks for no pause repeatedly, it gets
// one that doubles.
clock::duration reply_judge::pause_asked_for(milliseconds asked, std::uint32_t times) const {
    const milliseconds first = context_.config().retry_first;
    const auto floor = coro::backoff_bound({first, std::max(first, asked_floor_max)}, times);
    // Limited before it is converted: `milliseconds::max()` is longer than `duration` can say.
    return std::max<clock::duration>(floor, std::min(asked, asked_pause_max));
}

}  // namespace mortise::txn::detail
