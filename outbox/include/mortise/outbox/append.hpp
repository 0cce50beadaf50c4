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

/// How a message is appended.
struct append_options {
    /// So long its id is refused when it is appended again with this wish, also when the message
    /// was sent; zero: nobody looks. Up to a hundred years. A message that has no id of its own
    /// gets a new one, which nobody else has.
    std::chrono::milliseconds unique_for{0};
};
static_assert(std::is_trivially_destructible_v<append_options>, "docs/compilers.md, G1");

/// Puts a message into the table, in the transaction that is open on the connection: it is sent if
/// and only if that is committed.
///
/// In a closure of `db::sqlite` the relays hear of it by themselves. The tables (`mortise_outbox`
/// and others with that prefix) are made on first use.
///
/// @return the message's id.
/// @par Errors  Throws `error`: `no_topic`, `bad_message_id`, `bad_header`, `message_too_large`,
///              `newer_format`, `duplicate_id`, `mortise::errc::no_transaction` and `bad_config`
///              (`unique_for` is out of its limits), and what SQLite says.
/// @par Threads As the connection: one at a time.
/// @par Cost    One small statement; with `unique_for` three more.
std::string append(db::connection& on, const message& what, append_options options = {});

/// The same for a connection that knows nothing of mortise. Call `ring` after the COMMIT.
///
/// @par Cost    The statement is prepared each time; with a `db::connection` that is kept beside
///              the handle it is not.
std::string append(sqlite3* on, const message& what, append_options options = {});

/// Tells the relays of this database, in all processes of the host, that there is something to
/// send. A ring that was forgotten is made up for by a relay's next look (`look_every`).
///
/// Not for closures of `db::sqlite`, which do it by themselves.
///
/// @return how many heard it.
/// @par Cost    A few system calls.
std::size_t ring(sqlite3* on) noexcept;

}  // namespace mortise::outbox

#endif
