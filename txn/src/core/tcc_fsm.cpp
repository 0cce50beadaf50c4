// SPDX-License-Identifier: BSL-1.0
#include "core/tcc_fsm.hpp"

#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::txn::core {

tcc_fsm::tcc_fsm(const std::vector<txn::branch>& branches, bool alone)
    : branches_(branches.size()), alone_(alone), open_(branches.size()) {
    MORTISE_ASSERT(!alone || branches.size() == 1);
    for (std::size_t i = 0; i < branches.size(); ++i) {
        branches_[i].before = branches[i].after;
        for (const auto earlier : branches[i].after)
            of(earlier).after.push_back(static_cast<branch_number>(i + 1));
    }
}

void tcc_fsm::begin(steps& next) {
    MORTISE_ASSERT(phase_ == phase::trying && open_ == branches_.size());
    try_what_can_be(next);
}

bool tcc_fsm::all(const std::vector<branch_number>& numbers, state at) const {
    return std::all_of(numbers.begin(), numbers.end(), [&](auto each) {
        return of(each).at == at;
    });
}

void tcc_fsm::try_what_can_be(steps& next) {
    for (std::size_t i = 0; i < branches_.size(); ++i) {
        if (branches_[i].at != state::idle || !all_tried(branches_[i].before))
            continue;
        branches_[i].at = state::trying;
        next.push_back({action::send_try, static_cast<branch_number>(i + 1)});
    }
}

bool tcc_fsm::all_tried(const std::vector<branch_number>& numbers) const {
    return std::all_of(numbers.begin(), numbers.end(), [&](auto each) {
        return of(each).at == state::tried || of(each).at == state::done;
    });
}

void tcc_fsm::tried(branch_number number, steps& next) {
    note_tried(number, alone_ ? state::done : state::tried, next);
}

void tcc_fsm::tried_for_good(branch_number number, steps& next) {
    note_tried(number, state::done, next);
}

void tcc_fsm::note_tried(branch_number number, state as, steps& next) {
    MORTISE_ASSERT(of(number).at == state::trying);
    of(number).at = as;
    if (alone_ && phase_ == phase::finishing)
        return decide(true, next);
    if (phase_ == phase::finishing)
        return finish_what_can_be(next);
    if (phase_ != phase::trying)
        return;
    if (--open_ == 0)
        decide(true, next);
    else
        try_what_can_be(next);
}

void tcc_fsm::try_refused(branch_number number, steps& next) {
    MORTISE_ASSERT(of(number).at == state::trying);
    of(number).at = state::refused;
    if (phase_ == phase::trying)
        decide(false, next);
    else if (phase_ == phase::finishing)
        finish_what_can_be(next);
}

void tcc_fsm::try_failed(branch_number number, steps& next) {
    MORTISE_ASSERT(of(number).at == state::trying);
    of(number).at = state::failed;
    if (phase_ == phase::trying && alone_)
        presume_cancel();
    else if (phase_ == phase::trying)
        return decide(false, next);
    if (phase_ == phase::finishing)
        finish_what_can_be(next);
}

bool tcc_fsm::abort(steps& next) {
    if (phase_ != phase::trying)
        return false;
    if (!alone_) {
        decide(false, next);
        return true;
    }
    presume_cancel();
    finish_what_can_be(next);
    return true;
}

void tcc_fsm::decide(bool confirm, steps& next) {
    phase_ = phase::deciding;
    confirm_ = confirm;
    next.push_back({confirm ? action::decide_confirm : action::decide_cancel});
}

void tcc_fsm::presume_cancel() {
    phase_ = phase::finishing;
    confirm_ = false;
    presumed_ = true;
    open_ = branches_.size();
}

void tcc_fsm::contradicted(branch_number number, steps& next) {
    MORTISE_ASSERT(phase_ == phase::trying && of(number).at == state::trying);
    presume_cancel();
    of(number).at = state::stuck;
    finish_what_can_be(next);
}

void tcc_fsm::decided(bool confirm, steps& next) {
    if (std::exchange(presumed_, false)) {
        MORTISE_ASSERT(!confirm || alone_);
        MORTISE_ASSERT(phase_ == phase::deciding || phase_ == phase::finishing);
        phase_ = phase::finishing;
        confirm_ = confirm;
        return finish_what_can_be(next);
    }
    MORTISE_ASSERT(phase_ == phase::deciding);
    phase_ = phase::finishing;
    confirm_ = confirm;
    open_ = branches_.size();
    finish_what_can_be(next);
}

// Repeats until nothing changes: a branch that needs no call may be what another one waits for.
void tcc_fsm::finish_what_can_be(steps& next) {
    bool changed = true;
    while (std::exchange(changed, false)) {
        for (std::size_t i = 0; i < branches_.size(); ++i) {
            place& each = branches_[i];
            const bool nothing =
                each.at == state::done ||
                (!confirm_ && (each.at == state::idle || each.at == state::refused));
            if (!nothing && each.at != state::tried && each.at != state::failed)
                continue;
            if (!all(confirm_ ? each.before : each.after, state::finished))
                continue;
            each.at = nothing ? state::finished : state::finishing;
            open_ -= nothing;
            changed = changed || nothing;
            if (!nothing) {
                next.push_back(
                    {confirm_ ? action::send_confirm : action::send_cancel,
                     static_cast<branch_number>(i + 1)}
                );
            }
        }
    }
    if (open_ != 0 || phase_ != phase::finishing)
        return;
    if (presumed_) {
        decide(false, next);
    } else {
        phase_ = phase::settled;
        next.push_back({action::settle});
    }
}

void tcc_fsm::finished(branch_number number, steps& next) {
    MORTISE_ASSERT(phase_ == phase::finishing);
    MORTISE_ASSERT(of(number).at == state::finishing || of(number).at == state::stuck);
    of(number).at = state::finished;
    --open_;
    finish_what_can_be(next);
}

void tcc_fsm::was_committed(branch_number number, steps& next) {
    MORTISE_ASSERT(alone_ && presumed_ && phase_ == phase::finishing);
    MORTISE_ASSERT(of(number).at == state::finishing || of(number).at == state::stuck);
    of(number).at = state::done;
    decide(true, next);
}

void tcc_fsm::stuck(branch_number number) {
    MORTISE_ASSERT(of(number).at == state::finishing);
    of(number).at = state::stuck;
}

void tcc_fsm::unstick(branch_number number, steps& next) {
    MORTISE_ASSERT(of(number).at == state::stuck);
    of(number).at = state::finishing;
    next.push_back({confirm_ ? action::send_confirm : action::send_cancel, number});
}

// Treats every try as if it may have succeeded, because nobody knows which were sent.
void tcc_fsm::resume_undecided(steps& next) {
    for (auto& each : branches_)
        each.at = state::failed;
    presume_cancel();
    finish_what_can_be(next);
}

void tcc_fsm::resume_decided(bool confirm, const std::vector<bool>& finished, steps& next) {
    MORTISE_ASSERT(finished.size() == branches_.size());
    phase_ = phase::finishing;
    confirm_ = confirm;
    open_ = branches_.size();
    for (std::size_t i = 0; i < branches_.size(); ++i) {
        branches_[i].at = finished[i] ? state::finished : state::failed;
        open_ -= finished[i];
    }
    finish_what_can_be(next);
}

}  // namespace mortise::txn::core
