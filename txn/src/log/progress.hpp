// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_PROGRESS_HPP
#define MORTISE_TXN_LOG_PROGRESS_HPP

#include "mortise/txn/transaction_view.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::log {

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
