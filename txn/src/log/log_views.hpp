// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_LOG_VIEWS_HPP
#define MORTISE_TXN_LOG_LOG_VIEWS_HPP

#include "mortise/db/connection.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::txn::log {

/// What operators see of the log, and the record of what they do to it.
///
/// @par Errors Members throw `error`: `not_a_log`, `newer_log`, `log_corrupt`, the code of SQLite.
class log_views {
public:
    /// Reads one transaction; empty if it belongs to another log, or does not exist.
    static std::optional<transaction_view> of(db::connection& on, const gid& gid);

    /// Lists transactions above `after`, in the order of their numbers, at most `limit`.
    static std::vector<transaction_view>
    list(db::connection& on, list_filter filter, std::uint64_t after, std::size_t limit);

    /// Records an action of an operator.
    static void record(db::connection& on, std::uint64_t number, const action_view& action);
};

}  // namespace mortise::txn::log

#endif
