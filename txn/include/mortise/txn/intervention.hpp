// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_INTERVENTION_HPP
#define MORTISE_TXN_INTERVENTION_HPP

#include "mortise/txn/branch.hpp"
#include "mortise/txn/gid.hpp"

#include <cstdint>
#include <string>

namespace mortise::txn {

/// An operator's order about a transaction.
class intervention {
public:
    enum class kind : std::uint8_t {
        retry,  ///< Calls stuck branches again, and those that pause before their next attempt.
        skip,   ///< Takes stuck branches for finished, although they are not.
        force,  ///< Cancels an undecided transaction; skips what is stuck.
    };

    intervention() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind type = kind::retry;
    txn::gid gid;
    branch_number branch = 0;  ///< Zero: every branch that the order applies to.
    std::string who;           ///< Recorded: who gave the order,
    std::string why;           ///< and for what reason.
};

/// `retry`, `skip`, `force`.
const char* to_string(intervention::kind type) noexcept;

}  // namespace mortise::txn

#endif
