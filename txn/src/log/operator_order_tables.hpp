// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_LOG_OPERATOR_ORDER_TABLES_HPP
#define MORTISE_TXN_LOG_OPERATOR_ORDER_TABLES_HPP

#include "mortise/db/connection.hpp"
#include "mortise/error.hpp"
#include "mortise/txn/intervention.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mortise::txn::log {

/// An order that an operator has left in the log for a coordinator.
class operator_order {
public:
    operator_order() = default;

    std::int64_t id = 0;
    intervention order;
    std::optional<std::uint32_t> partition;  ///< Empty: there is no such transaction.
    bool ended = false;                      ///< Whether the transaction has ended.
};

/// The statements about such orders. Each runs in the transaction of its caller.
///
/// @par Errors Members throw `error` with the code of SQLite.
class operator_order_tables {
public:
    /// Creates the table if it is missing.
    static void prepare(db::connection& on);

    /// Leaves an order. @return its id. @par Errors `bad_gid`
    static result<std::int64_t> leave(db::connection& on, const intervention& order);

    /// Lists the unsettled orders with an id above `after`, in the order in which they were left.
    static std::vector<operator_order>
    pending(db::connection& on, std::uint64_t log, std::int64_t after, std::size_t limit);

    /// Records what became of an order; an empty code: it is done.
    /// @return false if it was settled before.
    static bool settle(db::connection& on, std::int64_t id, error_code code);

    /// Returns what became of an order; empty if it is not settled.
    static std::optional<error_code> result_of(db::connection& on, std::int64_t id);

    /// Lists the unsettled orders about a transaction, for people.
    static std::vector<action_view> about(db::connection& on, std::uint64_t number);
};

}  // namespace mortise::txn::log

#endif
