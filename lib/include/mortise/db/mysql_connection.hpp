// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_CONNECTION_HPP
#define MORTISE_DB_MYSQL_CONNECTION_HPP

#include "mortise/db/transaction_connection.hpp"
#include "mortise/db/transaction_mark.hpp"

#include <cstdint>

namespace mortise::db {

/// A connection to a MariaDB or MySQL server, for the closure of one transaction.
///
/// A statement with parameters is prepared first, once for each connection, which costs one more
/// round trip. One is sent when the one before it is answered. It is cancelled by `KILL QUERY`, on
/// another connection.
///
/// Statements by which the server ends a transaction unasked (`CREATE TABLE`, say) are refused,
/// too. After a deadlock or a lock time-out every statement is refused, and the transaction cannot
/// be committed: the server has undone it, or a part of it. After other failures it goes on.
/// An unsigned number above 2^63 - 1 in an answer is an error (`column_type`).
class mysql_connection : public transaction_connection {
public:
    using transaction_connection::transaction_connection;

    /// The server's number of the connection, as in its process list.
    std::uint32_t server_id() const noexcept;

    /// What asks for the outcome of this transaction (`async_outcome`); empty if it is not traced.
    transaction_mark mark() const;
};

}  // namespace mortise::db

#endif
