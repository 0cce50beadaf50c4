// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_INTERVENTION_HPP
#define MORTISE_TXN_INTERVENTION_HPP

#include "mortise/txn/branch.hpp"
#include "mortise/txn/gid.hpp"

#include <cstdint>
#include <string>

namespace mortise::txn {

/// What an operator wants done about a transaction.
class intervention {
public:
    enum class kind : std::uint8_t {
        retry,  ///< Call stuck branches again, and those that wait for their next attempt.
        skip,   ///< Take stuck branches for finished, though they are not.
        force,  ///< Cancel what is not decided; skip what is stuck.
    };

    intervention() = default;  // declared: no aggregate (docs/compilers.md, G3)

    kind what = kind::retry;
    txn::gid gid;
    branch_number branch = 0;  ///< Zero: every branch that it concerns.
    std::string who;           ///< For the record,
    std::string why;           ///< as is this.
};

/// `retry`, `skip`, `force`.
const char* to_string(intervention::kind what) noexcept;

}  // namespace mortise::txn

#endif
