// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_BRANCH_HPP
#define MORTISE_TXN_BRANCH_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::txn {

/// The number of a branch in its transaction, from 1.
using branch_number = std::uint32_t;

/// The part of a transaction that one participant does.
class branch {
public:
    branch() = default;  // declared: no aggregate (docs/compilers.md, G3)
    friend bool operator==(const branch&, const branch&) = default;

    std::string participant;  ///< Its name at the coordinator.
    std::string payload;
    std::vector<branch_number> after;  ///< The branches that must come before it.
};

}  // namespace mortise::txn

#endif
