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
    const running& transaction, branch_number number, const result<reply>& got
) const {
    if (got) {
        return got->what == reply::verdict::ahead &&
               (got->seen.epoch > transaction.home->term->epoch ||
                (got->seen.term != 0 && got->seen.term != transaction.term) ||
                got->seen.ended_below > transaction.gid.number);
    }
    if (transaction.fsm.presuming() && transaction.fsm.is_finishing(number))
        return got.error() == errc::conflict;
    // Nobody else can have cancelled or ended it before its time is up.
    return transaction.fsm.at() == core::tcc_fsm::phase::trying && now() < transaction.until &&
           (got.error() == errc::late_try || got.error() == errc::conflict);
}

// Asks the log first if the participant saw a higher epoch: another coordinator may have taken
// over, and then the log says so.
void coordinator_core::doubt(
    const running_ptr& transaction, branch_number number, const result<reply>& got
) {
    auto& at = *transaction->home;
    if (!got || got->seen.epoch <= at.term->epoch)
        return suspect(transaction, number);
    log_->ask(
        [by = *at.term](db::connection& on) { return log::log_tables::decides(on, by); },
        with_log([self = shared_from_this(), transaction, number, &at, id = at.term->id](
                     error_code failed, bool ours
                 ) {
            if (!at.is_in(id) || self->closed_)
                return;
            if (failed)
                return self->log_failed(failed);
            if (!ours)
                return self->step_down(at, errc::stepped_down);
            if (!self->gone(*transaction))
                self->suspect(transaction, number);
            self->leave_when_decided(at);
            self->end_stop();
        })
    );
}

// Leaves an undecided transaction undecided: by this log nobody can say what became of its number.
void coordinator_core::suspect(const running_ptr& transaction, branch_number number) {
    if (!std::exchange(transaction->suspicious, true)) {
        ++transaction->home->suspicious;
        ++count_.suspicious;
    }
    lanes_.find(transaction->plan->branches[number - 1].participant)->second.barred = true;
    transaction->why = errc::participant_ahead;
    tell_of(txn_event::kind::ahead, *transaction, number);
    if (transaction->fsm.is_finishing(number)) {
        stuck(transaction, number);
    } else if (transaction->fsm.at() == core::tcc_fsm::phase::trying) {
        steps next;
        deadlines_.clear(transaction->timer);
        transaction->home->undecided -= std::exchange(transaction->undecided, false);
        transaction->fsm.contradicted(number, next);
        stop_tries(transaction, next);
        transaction->done.branches[number - 1].stuck = true;
        ++count_.stuck;
        tell_of(txn_event::kind::stuck, *transaction, number);
        waits_for_people(*transaction, true);
        note(transaction);
        carry_out(transaction, next);
    } else {
        steps next;
        transaction->fsm.try_failed(number, next);  // its cancel gets the same answer
        carry_out(transaction, next);
    }
    if (transaction->fsm.presuming())
        answer(transaction->waiters, {}, outcome_of(*transaction));
}

void coordinator_core::no_longer_suspect(running& transaction) {
    if (!std::exchange(transaction.suspicious, false))
        return;
    --transaction.home->suspicious;
    --count_.suspicious;
}

// Allows new transactions with its participants again, because an operator has looked at it.
void coordinator_core::lift_bars(const running& transaction) {
    if (!transaction.suspicious)
        return;
    for (const auto& each : transaction.plan->branches) {
        if (const auto found = lanes_.find(each.participant); found != lanes_.end())
            found->second.barred = false;
    }
}

bool coordinator_core::is_barred(const running& transaction) const {
    return std::any_of(
        transaction.plan->branches.begin(),
        transaction.plan->branches.end(),
        [&](auto& each) {
            const auto found = lanes_.find(each.participant);
            return found != lanes_.end() && found->second.barred;
        }
    );
}

}  // namespace mortise::txn::detail
