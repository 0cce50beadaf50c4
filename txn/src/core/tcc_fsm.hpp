// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_CORE_TCC_FSM_HPP
#define MORTISE_TXN_CORE_TCC_FSM_HPP

#include "mortise/txn/branch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::txn::core {

/// The life of one transaction: when each call may be made, and when to decide. No clock, no I/O:
/// its owner makes the calls, repeats them for as long as it likes, and reports the answers.
///
/// * Tries are sent in parallel, each after the branches that must come before it.
/// * It decides once: to confirm when every try has succeeded, to cancel when one has not or when
///   it is told to. Later reports do not change the decision.
/// * No branch is called for a decision before `decided` says that the decision is durable.
/// * Confirms go in the order of the tries, cancels in the reverse order. A branch whose try is
///   under way is cancelled when the try has ended. A branch whose try was never sent, or was
///   refused, is not cancelled.
/// * A stuck branch blocks the branches that come after it, and nothing else.
/// * Presumed abort: this applies to a transaction that an earlier coordinator left undecided, or
///   that a participant has contradicted. Every branch is cancelled first, and the cancel is
///   decided last. The log may be an old copy, and then a participant that has confirmed its branch
///   can say so before the log says the opposite.
/// * One phase: a branch that is alone is committed by its try. If that is unclear, or an abort
///   comes, it is cancelled before anything is decided, and the answer says how it was.
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
                         ///< every branch is already cancelled.
        settle,          ///< Every branch is finished.
    };
    struct step {
        action type;
        branch_number branch = 0;
        friend bool operator==(const step&, const step&) = default;
    };
    using steps = std::vector<step>;

    enum class phase : std::uint8_t { trying, deciding, finishing, settled };

    /// @param alone the only branch is committed by its try: nothing is left to decide
    explicit tcc_fsm(const std::vector<txn::branch>& branches, bool alone = false);

    /// The transaction has begun, and is durable.
    void begin(steps& next);

    void tried(branch_number number, steps& next);
    /// The try has succeeded, and the branch needs no further call.
    void tried_for_good(branch_number number, steps& next);
    void try_refused(branch_number number, steps& next);
    /// The try will not be repeated, and may have succeeded.
    void try_failed(branch_number number, steps& next);

    /// Cancels the transaction unless it is decided. @return whether that had an effect.
    bool abort(steps& next);

    /// A participant knows the number of this transaction from another one. Its branch is stuck,
    /// and the others are cancelled without a decision. Only in the phase `trying`.
    void contradicted(branch_number number, steps& next);

    /// The decision is durable; also the last report of a presumed cancel.
    void decided(bool confirm, steps& next);

    void finished(branch_number number, steps& next);
    /// The cancel of the only branch has found that its try was committed.
    void was_committed(branch_number number, steps& next);
    /// The branch cannot be finished now; `unstick` sends the call again.
    void stuck(branch_number number);
    void unstick(branch_number number, steps& next);

    /// Resumes a transaction that another coordinator began: a decided one, or one to be cancelled
    /// by presumption.
    void resume_undecided(steps& next);
    void resume_decided(bool confirm, const std::vector<bool>& finished, steps& next);

    phase at() const noexcept { return phase_; }
    bool confirming() const noexcept { return confirm_; }
    /// Whether it is being cancelled without a decision.
    bool presuming() const noexcept { return presumed_; }
    bool alone() const noexcept { return alone_; }
    bool is_trying(branch_number number) const { return of(number).at == state::trying; }
    bool is_finishing(branch_number number) const { return of(number).at == state::finishing; }
    bool is_stuck(branch_number number) const { return of(number).at == state::stuck; }
    bool is_finished(branch_number number) const { return of(number).at == state::finished; }
    std::size_t size() const noexcept { return branches_.size(); }

private:
    enum class state : std::uint8_t {
        idle,       ///< Nothing was sent.
        trying,     ///< Its try is under way.
        tried,      ///< Its try has succeeded.
        done,       ///< Its try has succeeded, and it needs no further call.
        failed,     ///< Its try may have succeeded.
        refused,    ///< Its try has not succeeded: there is nothing to cancel.
        finishing,  ///< Its confirm or cancel is under way.
        stuck,
        finished,
    };
    struct place {
        std::vector<branch_number> before;  ///< The branches that come before it.
        std::vector<branch_number> after;   ///< The branches that come after it.
        state at = state::idle;
    };

    place& of(branch_number number) { return branches_.at(number - 1); }
    const place& of(branch_number number) const { return branches_.at(number - 1); }
    void try_what_can_be(steps& next);
    void finish_what_can_be(steps& next);
    void decide(bool confirm, steps& next);
    void presume_cancel();
    void note_tried(branch_number number, state as, steps& next);
    bool all(const std::vector<branch_number>& numbers, state at) const;
    bool all_tried(const std::vector<branch_number>& numbers) const;

    std::vector<place> branches_;
    bool alone_;
    phase phase_ = phase::trying;
    bool confirm_ = false;
    bool presumed_ = false;
    std::size_t open_ = 0;  ///< Branches not tried yet; in the phase `finishing`: not finished.
};

}  // namespace mortise::txn::core

#endif
