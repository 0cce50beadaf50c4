// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_CONNECTION_HPP
#define MORTISE_DB_POSTGRES_CONNECTION_HPP

#include "mortise/db/transaction_connection.hpp"

#include <cstdint>

namespace mortise::db {

/// A connection to a PostgreSQL server, for the closure of one transaction.
///
/// Types of columns: integers and booleans (0 and 1) are integers, floating numbers are `double`,
/// `bytea` is a blob; all others, such as numeric, timestamps, uuid or json, are text as PostgreSQL
/// writes it. Values go the other way in the same manner; the server gives each the type that its
/// place in the statement asks for. Where nothing asks for one, write it: `$1::bigint`.
///
/// BEGIN leaves with the first statement; the second waits for its answer. Later ones are sent
/// without waiting for each other's answers. After a failed statement the server refuses all others
/// of the transaction, except for a ROLLBACK TO a savepoint, and the transaction cannot be
/// committed.
class postgres_connection : public transaction_connection {
public:
    using transaction_connection::transaction_connection;

    /// The number of the server's process that serves this connection, as `pg_backend_pid()` tells
    /// it. A pooler between here and there makes one up.
    std::uint32_t server_id() const noexcept;
};

}  // namespace mortise::db

#endif
