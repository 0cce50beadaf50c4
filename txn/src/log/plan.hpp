// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_PLAN_HPP
#define MORTISE_TXN_LOG_PLAN_HPP

#include "mortise/txn/branch.hpp"
#include "mortise/txn/call.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::log {

/// The record of a transaction that is written when it begins: enough to finish it.
class plan {
public:
    plan() = default;
    friend bool operator==(const plan&, const plan&) = default;

    std::vector<txn::branch> branches;
    std::vector<lock_token> locks;
    std::string traceparent;

    std::string encode() const;
    /// @return nothing unless the record is a plan that can be carried out.
    static std::optional<plan> decode(std::string_view record);
};

}  // namespace mortise::txn::log

#endif
