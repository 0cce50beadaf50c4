// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_TRANSACTION_SCOPE_HPP
#define MORTISE_STORE_SQLITE_TRANSACTION_SCOPE_HPP

#include "store/sqlite/db.hpp"

namespace mortise::store_detail {

/// Rolls back a transaction that is still open when the scope is left.
class transaction_scope {
public:
    explicit transaction_scope(sqlite_db& db) noexcept : db_(db) {}
    ~transaction_scope() { db_.roll_back(); }
    transaction_scope(const transaction_scope&) = delete;
    transaction_scope& operator=(const transaction_scope&) = delete;

private:
    sqlite_db& db_;
};

}  // namespace mortise::store_detail

#endif
