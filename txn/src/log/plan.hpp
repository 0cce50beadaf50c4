// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_PLAN_HPP
#define MORTISE_TXN_LOG_PLAN_HPP

#include "mortise/txn/branch.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::log {

constexpr std::size_t branches_max = 1'024;
constexpr std::size_t key_max = 255;
/// The log remembers this many calls of each branch, the newest ones.
constexpr std::size_t calls_kept = 16;

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

/// The record of what became of the branches of a transaction, as far as the log knows.
class progress {
public:
    progress() = default;
    friend bool operator==(const progress&, const progress&) = default;

    class branch {
    public:
        branch() = default;
        friend bool operator==(const branch&, const branch&) = default;

        bool finished = false;  ///< Confirmed or cancelled, or there was nothing to do.
        bool skipped = false;   ///< An operator skipped it.
        bool stuck = false;
        std::uint64_t calls = 0;        ///< All calls that were made.
        std::vector<call_view> newest;  ///< The latest calls, in their order.
    };
    std::vector<branch> branches;

    void note(branch_number number, call_view view);

    std::string encode() const;
    static std::optional<progress> decode(std::string_view record);
};

}  // namespace mortise::txn::log

#endif
