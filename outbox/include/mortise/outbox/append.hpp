// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_APPEND_HPP
#define MORTISE_OUTBOX_APPEND_HPP

#include "mortise/db/connection.hpp"
#include "mortise/outbox/message.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>

struct sqlite3;

namespace mortise::outbox {

/// Options for appending one message.
struct append_options {
    /// How long the id is refused if a later append with this option uses it again, even after the
    /// message was sent. Zero: not checked. At most a hundred years. A message without an id gets a
    /// new random one, which never collides.
    std::chrono::milliseconds unique_for{0};
};
static_assert(std::is_trivially_destructible_v<append_options>, "docs/compilers.md, G1");

/// Puts a message into the message table, in the transaction that is open on the connection. The
/// message is sent if and only if this transaction is committed.
///
/// In a closure of `db::sqlite` the commit wakes the relays by itself. The tables (`mortise_outbox`
/// and others with that prefix) are created on first use.
///
/// @return the id of the message.
/// @par Errors  Throws `error`: `no_topic`, `bad_message_id`, `bad_header`, `message_too_large`,
///              `newer_format`, `duplicate_id`, `mortise::errc::no_transaction`, `bad_config`
///              (`unique_for` is outside its limits), and the errors of SQLite.
/// @par Threads As for the connection: one at a time.
/// @par Cost    One small statement; three more with `unique_for`.
std::string append(db::connection& on, const message& message, append_options options = {});

/// The same for a connection that mortise did not open. Call `ring` after the COMMIT.
///
/// @par Cost    The statement is prepared on each call. To avoid that, keep a `db::connection`
///              beside the handle and use the other overload.
std::string append(sqlite3* on, const message& message, append_options options = {});

/// Tells the relays of this database, in all processes of the host, that there are messages to
/// send. If you forget it, a relay finds the messages at its next look (`look_every`).
///
/// Closures of `db::sqlite` ring by themselves; do not call it there.
///
/// @return how many listeners heard it.
/// @par Cost    A few system calls.
std::size_t ring(sqlite3* on) noexcept;

}  // namespace mortise::outbox

#endif
