// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_CORE_TCC_FSM_HPP
#define MORTISE_TXN_CORE_TCC_FSM_HPP

#include "mortise/txn/branch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::txn::core {

/// The life of one transaction: which call may be made when, and when it is to be decided. No
/// clock, no I/O: its owner makes the calls, repeats them as long as it likes, and reports what
/// came.
///
/// * Tries are sent in parallel, each after those that it is to come after.
/// * It decides once: to confirm when every try has succeeded, to cancel when one has not or when
///   it is told to. What comes later changes nothing.
/// * Nothing is confirmed or cancelled before `decided` says that the decision will never be lost.
/// * Confirms go in the order of the tries, cancels in the opposite one. A branch whose try is
///   under way is cancelled when that has ended, one that was never sent or that refused is not.
/// * A branch that is stuck blocks those that come after it, and nothing else.
/// * Presumed abort: of what another has left undecided, or a participant has contradicted, every
///   branch is cancelled first, and only then is that decided. For the log may be an old copy, and
///   a branch that is known to be confirmed says so before the log says the opposite.
///
/// | phase | all tried | a try refused or failed | abort | decided |
/// | --- | --- | --- | --- | --- |
/// | trying | decide_confirm | decide_cancel | decide_cancel | |
/// | deciding | | (noted) | | confirms or cancels |
/// | finishing | | (cancelled, if it was tried) | | |
///
/// Tested as a table by tcc_fsm_test.cpp.
class tcc_fsm {
public:
    enum class action : std::uint8_t {
        send_try,        ///< Report `tried`, `try_refused` or `try_failed`.
        send_confirm,    ///< Report `finished` or `stuck`.
        send_cancel,     ///< Report `finished` or `stuck`.
        decide_confirm,  ///< Make the decision durable; report `decided`.
        decide_cancel,   ///< Make the decision durable; report `decided`. If it was presumed,
                         ///< every branch is cancelled.
        settle,          ///< Every branch is finished.
    };
    struct step {
        action what;
        branch_number branch = 0;
        friend bool operator==(const step&, const step&) = default;
    };
    using steps = std::vector<step>;

    enum class phase : std::uint8_t { trying, deciding, finishing, settled };

    explicit tcc_fsm(const std::vector<txn::branch>& branches);

    /// It has begun, durably.
    void begin(steps& next);

    void tried(branch_number which, steps& next);
    void try_refused(branch_number which, steps& next);
    /// It will not be repeated, and may have succeeded.
    void try_failed(branch_number which, steps& next);

    /// It is to be cancelled, if it is not decided yet. @return whether that had an effect.
    bool abort(steps& next);

    /// A participant knows the number of this transaction from another one: its branch is stuck,
    /// and the others are cancelled without a decision. Only while it is trying.
    void contradicted(branch_number which, steps& next);

    /// The decision is durable; a cancel also while it is only presumed.
    void decided(bool confirm, steps& next);

    void finished(branch_number which, steps& next);
    /// The branch cannot be finished now; `unstick` sends the call again.
    void stuck(branch_number which);
    void unstick(branch_number which, steps& next);

    /// Takes up a transaction that was begun by another, in whatever state it was found in: it is
    /// decided, or presumed to be cancelled.
    void resume_undecided(steps& next);
    void resume_decided(bool confirm, const std::vector<bool>& finished, steps& next);

    phase at() const noexcept { return phase_; }
    bool confirming() const noexcept { return confirm_; }
    /// Whether it is being cancelled, and that is not decided.
    bool presuming() const noexcept { return presumed_; }
    bool is_trying(branch_number which) const { return of(which).at == state::trying; }
    bool is_finishing(branch_number which) const { return of(which).at == state::finishing; }
    bool is_stuck(branch_number which) const { return of(which).at == state::stuck; }
    bool is_finished(branch_number which) const { return of(which).at == state::finished; }
    std::size_t size() const noexcept { return branches_.size(); }

private:
    enum class state : std::uint8_t {
        idle,       ///< Nothing was sent.
        trying,     ///< Its try is under way.
        tried,      ///< It has succeeded,
        failed,     ///< or it may have.
        refused,    ///< It has not: there is nothing to cancel.
        finishing,  ///< Its confirm or cancel is under way.
        stuck,
        finished,
    };
    struct place {
        std::vector<branch_number> before;  ///< It comes after these,
        std::vector<branch_number> after;   ///< and before these.
        state at = state::idle;
    };

    place& of(branch_number which) { return branches_.at(which - 1); }
    const place& of(branch_number which) const { return branches_.at(which - 1); }
    void try_what_can_be(steps& next);
    void finish_what_can_be(steps& next);
    void decide(bool confirm, steps& next);
    void presume_cancel();
    bool all(const std::vector<branch_number>& which, state at) const;

    std::vector<place> branches_;
    phase phase_ = phase::trying;
    bool confirm_ = false;
    bool presumed_ = false;
    std::size_t open_ = 0;  ///< Branches that are not tried, then: not finished.
};

}  // namespace mortise::txn::core

#endif
