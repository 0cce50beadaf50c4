// SPDX-License-Identifier: BSL-1.0
// Handles what participants have seen and the log does not know: the log may be an old copy.
//
// A participant's word stops no more than it must. Its own branch is stuck, nothing new is begun
// with it, and other transactions go on. That is safe: each of those is judged by its own
// participants, who answer the same if they know its number from another transaction.
#include "coordinator/coordinator_core.hpp"
#include "mortise/coro/time_source.hpp"

#include <algorithm>
#include <utility>

namespace mortise::txn::detail {

bool coordinator_core::tells_of_an_old_copy(
    const running& what, branch_number which, const result<reply>& got
) const {
    if (got) {
        return got->what == reply::verdict::ahead &&
               (got->seen.epoch > what.home->term->epoch ||
                (got->seen.term != 0 && got->seen.term != what.term) ||
                got->seen.ended_below > what.which.number);
    }
    if (what.fsm.presuming() && what.fsm.is_finishing(which))
        return got.error() == errc::conflict;
    // Nobody else can have cancelled or ended it before its time is up.
    return what.fsm.at() == core::tcc_fsm::phase::trying && now() < what.until &&
           (got.error() == errc::late_try || got.error() == errc::conflict);
}

// Asks the log first if the participant saw a higher epoch: another coordinator may have taken
// over, and then the log says so.
void coordinator_core::doubt(
    const running_ptr& what, branch_number which, const result<reply>& got
) {
    auto& at = *what->home;
    if (!got || got->seen.epoch <= at.term->epoch)
        return suspect(what, which);
    log_->ask(
        [by = *at.term](db::connection& on) { return log::log_tables::decides(on, by); },
        with_log([self = shared_from_this(), what, which, &at, id = at.term->id](
                     error_code failed, bool ours
                 ) {
            if (!at.is_in(id) || self->closed_)
                return;
            if (failed)
                return self->log_failed(failed);
            if (!ours)
                return self->step_down(at, errc::stepped_down);
            if (!self->gone(*what))
                self->suspect(what, which);
            self->leave_when_decided(at);
            self->end_stop();
        })
    );
}

// Leaves an undecided transaction undecided: by this log nobody can say what became of its number.
void coordinator_core::suspect(const running_ptr& what, branch_number which) {
    if (!std::exchange(what->suspicious, true)) {
        ++what->home->suspicious;
        ++count_.suspicious;
    }
    lanes_.find(what->what->branches[which - 1].participant)->second.barred = true;
    what->why = errc::participant_ahead;
    tell_of(txn_event::kind::ahead, *what, which);
    if (what->fsm.is_finishing(which)) {
        stuck(what, which);
    } else if (what->fsm.at() == core::tcc_fsm::phase::trying) {
        steps next;
        deadlines_.clear(what->timer);
        what->home->undecided -= std::exchange(what->undecided, false);
        what->fsm.contradicted(which, next);
        stop_tries(what, next);
        what->done.branches[which - 1].stuck = true;
        ++count_.stuck;
        tell_of(txn_event::kind::stuck, *what, which);
        waits_for_people(*what, true);
        note(what);
        carry_out(what, next);
    } else {
        steps next;
        what->fsm.try_failed(which, next);  // its cancel gets the same answer
        carry_out(what, next);
    }
    if (what->fsm.presuming())
        answer(what->waiters, {}, outcome_of(*what));
}

void coordinator_core::no_longer_suspect(running& what) {
    if (!std::exchange(what.suspicious, false))
        return;
    --what.home->suspicious;
    --count_.suspicious;
}

// Allows new transactions with its participants again, because an operator has looked at it.
void coordinator_core::lift_bars(const running& what) {
    if (!what.suspicious)
        return;
    for (const auto& each : what.what->branches) {
        if (const auto found = lanes_.find(each.participant); found != lanes_.end())
            found->second.barred = false;
    }
}

bool coordinator_core::is_barred(const running& what) const {
    return std::any_of(what.what->branches.begin(), what.what->branches.end(), [&](auto& each) {
        const auto found = lanes_.find(each.participant);
        return found != lanes_.end() && found->second.barred;
    });
}

}  // namespace mortise::txn::detail
