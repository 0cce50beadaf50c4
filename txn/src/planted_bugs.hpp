// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_PLANTED_BUGS_HPP
#define MORTISE_TXN_PLANTED_BUGS_HPP

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
#endif
};

}  // namespace mortise::txn::detail

#endif
