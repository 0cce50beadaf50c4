// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_TRANSACTION_VIEW_HPP
#define MORTISE_TXN_TRANSACTION_VIEW_HPP

#include "mortise/error.hpp"
#include "mortise/txn/branch.hpp"
#include "mortise/txn/call.hpp"
#include "mortise/txn/outcome.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::txn {

/// One call of a participant, as the log remembers it.
class call_view {
public:
    enum class verdict : std::uint8_t { done, refused, again, failed };

    call_view() = default;  // declared: no aggregate (docs/compilers.md, G3)
    friend bool operator==(const call_view&, const call_view&) = default;

    operation type = operation::try_;
    std::uint32_t attempt = 0;
    std::uint64_t epoch = 0;             ///< Of the coordinator that made the call.
    std::chrono::microseconds begun{0};  ///< Since the transaction began, or was taken over.
    std::chrono::microseconds took{0};
    verdict result = verdict::done;
    std::string text;  ///< The participant's words, unless the verdict is `done`.
};

/// A branch, as the log knows it.
class branch_view {
public:
    /// How the branch stands in the log. The coordinator may have got further meanwhile.
    enum class state : std::uint8_t {
        open,       ///< Not finished.
        stuck,      ///< Its participant refuses: an operator has to look.
        confirmed,  ///< Finished.
        cancelled,  ///< Finished, or there was nothing to cancel.
        skipped,    ///< An operator skipped it: it was not finished.
    };

    branch_view() = default;  // declared: no aggregate (docs/compilers.md, G3)

    state at = state::open;
    std::string participant;
    std::size_t payload_size = 0;
    std::vector<branch_number> after;
    bool finished = false;
    bool skipped = false;  ///< An operator skipped it: it was not finished.
    bool stuck = false;    ///< Its participant refuses: an operator has to look.
    std::uint64_t calls = 0;
    std::vector<call_view> newest;  ///< The latest calls, in their order.
};

/// `open`, `stuck`, `confirmed`, `cancelled`, `skipped`.
const char* to_string(branch_view::state state) noexcept;

/// An action of an operator.
class action_view {
public:
    action_view() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::string type;
    branch_number branch = 0;  ///< Zero: the whole transaction.
    std::string who;
    std::string why;
    std::int64_t at_ms = 0;  ///< Milliseconds since 1970, by the wall clock.
};

/// Selects the transactions of a list.
enum class list_filter : std::uint8_t {
    all,
    unfinished,  ///< Not decided, or not finished.
    stuck,       ///< An operator has to look.
};

/// A transaction, as the log knows it. The coordinator may have got further meanwhile.
class transaction_view {
public:
    transaction_view() = default;  // declared: no aggregate (docs/compilers.md, G3)

    txn::gid gid;
    standing at = standing::open;
    bool ended = false;  ///< Every branch is finished.
    error_code why;      ///< Why it was cancelled.
    std::string text;
    std::string key;
    std::uint64_t begun_epoch = 0;
    std::uint64_t decided_epoch = 0;
    // Milliseconds since 1970, by the wall clock of the coordinator that wrote it; zero: not yet.
    std::int64_t begun_ms = 0;
    std::int64_t decided_ms = 0;
    std::int64_t ended_ms = 0;
    std::vector<lock_token> locks;
    std::vector<branch_view> branches;
    std::vector<action_view> actions;
    std::vector<action_view> operator_orders;  ///< Orders that wait for a coordinator.
    std::string traceparent;
    bool readable = true;  ///< False: its records are damaged, and people have to look.
};

}  // namespace mortise::txn

#endif
