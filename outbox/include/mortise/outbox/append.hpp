// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_APPEND_HPP
#define MORTISE_OUTBOX_APPEND_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/message.hpp"

#include <cstddef>
#include <string>

struct sqlite3;

namespace mortise::outbox {

/// Puts a message into the table, in the transaction that is open on the connection: it is sent if
/// and only if that is committed.
///
/// In a closure of `db::sqlite` the relays hear of it by themselves. The tables (`mortise_outbox`
/// and others with that prefix) are made on first use.
///
/// @return the message's id.
/// @par Errors  Throws `error`: `no_topic`, `bad_message_id`, `bad_header`, `message_too_large`,
///              `newer_format`, `mortise::errc::no_transaction`, and what SQLite says.
/// @par Threads As the connection: one at a time.
/// @par Cost    One small statement.
std::string append(db::connection& on, const message& what);

/// The same for a connection that knows nothing of mortise. Call `ring` after the COMMIT.
///
/// @par Cost    The statement is prepared each time; with a `db::connection` that is kept beside
///              the handle it is not.
std::string append(sqlite3* on, const message& what);

/// Tells the relays of this database, in all processes of the host, that there is something to
/// send. A ring that was forgotten is made up for by the next one, or when a relay starts.
///
/// Not for closures of `db::sqlite`, which do it by themselves.
///
/// @return how many heard it.
/// @par Cost    A few system calls.
std::size_t ring(sqlite3* on) noexcept;

}  // namespace mortise::outbox

#endif
