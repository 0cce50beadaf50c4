// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_ERROR_HPP
#define MORTISE_OUTBOX_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::outbox {

/// Errors of a message table, its relay and its inbox. The message of each code says what to do.
enum class errc : int {
    // Messages.
    no_topic = 1,       ///< A message names a topic of 1 to 249 bytes.
    bad_message_id,     ///< The id of a message has 1 to 255 bytes.
    message_too_large,  ///< A message is longer than SQLite, or the table's limit, takes.
    bad_header,         ///< A header has a name of 1 to 255 bytes, and a message at most 1,024.

    // The table.
    newer_format,   ///< The tables were written by a newer mortise.
    older_format,   ///< The tables were written by an older mortise.
    corrupt_row,    ///< A row contradicts itself.
    not_an_outbox,  ///< The database has no message table.
    no_such_row,    ///< There is no such row.
    bad_shards,     ///< A table has 1 to 256 shards.

    // Inboxes.
    not_an_inbox,  ///< The database has no inbox.
    no_position,   ///< By offsets a message has a source, of 1 to 255 bytes, and a place there.

    // What the mark at the sink says of the table, and the other way round.
    foreign_mark,     ///< The mark at the sink was made from another database.
    restored,         ///< The mark at the sink is ahead: the database is an old copy.
    foreign_sink,     ///< The sink is not the one to which the rows went before.
    mark_lost,        ///< The sink knows less than it once acknowledged.
    nothing_refused,  ///< No relay has refused to go on: there is nothing to accept.

    // Relays.
    refused,     ///< The function that was given the message refuses it.
    superseded,  ///< Another relay has taken the shard over.
    stopped,     ///< The relay was stopped.
    bad_file,    ///< What the file says is not what a sink writes.
    /// An fsync of the database's log failed: what was committed may not be on the disk.
    log_not_synced,
    /// A message with that id was appended before, and was to be the only one for a time.
    duplicate_id,
    files_removed,  ///< Message files were removed before they were read.
};

const boost::system::error_category& error_category() noexcept;

inline error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

}  // namespace mortise::outbox

template <>
struct boost::system::is_error_code_enum<mortise::outbox::errc> : std::true_type {};

#endif
