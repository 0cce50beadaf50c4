// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PLANTED_BUGS_HPP
#define MORTISE_TXN_PLANTED_BUGS_HPP

#include "mortise/txn/prepared_branch.hpp"

#include <memory>

namespace mortise::txn::detail {

class coordinator_core;
class running;

/// Bugs that the crash matrix and the simulation must find. `MORTISE_PLANT` names the one that is
/// in effect; a build without `MORTISE_PLANT_BUGS` contains none of them.
struct planted_bugs {
#ifdef MORTISE_PLANT_BUGS
    /// Sends the confirms before the decision is durable.
    /// @return whether the bug is in effect: then the decision is made here.
    static bool
    confirm_before_commit(coordinator_core& core, const std::shared_ptr<running>& transaction);
    /// Accepts changes of a term that is over.
    static bool log_without_epoch() noexcept;
    /// Does not remember a cancel that came before its try.
    static bool no_tombstone() noexcept;
    /// Takes a prepared branch for an orphan if its transaction is not under way here.
    static void forget_elsewhere(coordinator_core& core, const txn::gid& of, prepared_standing& at);
    /// Takes the prepared branches of all logs for those of this one.
    static bool foreign_branches() noexcept;
    /// Rolls back what an earlier attempt of a try may have prepared, and does the work again.
    static bool roll_back_and_retry() noexcept;
    /// Decides for a branch that commits alone, as if it did not.
    static bool decide_for_alone() noexcept;
    /// Decides without a note of the branches that have finished in their tries.
    static bool decide_without_progress() noexcept;
    /// Begins every transaction without a key as if all its participants prepared.
    static bool lazy_for_all() noexcept;
    /// Gives numbers again that a power failure has lost.
    static bool reuse_numbers() noexcept;
#else
    static constexpr bool
    confirm_before_commit(coordinator_core&, const std::shared_ptr<running>&) noexcept {
        return false;
    }
    static constexpr bool log_without_epoch() noexcept {
        return false;
    }
    static constexpr bool no_tombstone() noexcept {
        return false;
    }
    static constexpr void
    forget_elsewhere(coordinator_core&, const txn::gid&, prepared_standing&) noexcept {}
    static constexpr bool foreign_branches() noexcept {
        return false;
    }
    static constexpr bool roll_back_and_retry() noexcept {
        return false;
    }
    static constexpr bool decide_for_alone() noexcept {
        return false;
    }
    static constexpr bool decide_without_progress() noexcept {
        return false;
    }
    static constexpr bool lazy_for_all() noexcept {
        return false;
    }
    static constexpr bool reuse_numbers() noexcept {
        return false;
    }
#endif
};

}  // namespace mortise::txn::detail

#endif
