// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_ERROR_HPP
#define MORTISE_OUTBOX_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::outbox {

/// Errors of a message table, its relay and its inbox. The message of each code says what to do.
enum class errc : int {
    // Messages.
    no_topic = 1,       ///< The topic is empty, or too long, or has a zero byte.
    bad_message_id,     ///< The id is too long; at an inbox also: there is none.
    message_too_large,  ///< The message is longer than 64 MiB.
    bad_header,         ///< A header has a bad name, or there are too many.

    // The table.
    newer_format,   ///< The tables were written by a newer mortise.
    older_format,   ///< The tables were written by an older mortise.
    corrupt_row,    ///< A row cannot be read.
    not_an_outbox,  ///< The database has no message table.
    no_such_row,    ///< The row, or the shard, does not exist.
    bad_shards,     ///< The number of shards is not 1 to 256.

    // Inboxes.
    not_an_inbox,  ///< The database has no inbox.
    no_position,   ///< By offsets: the message lacks a valid source or place.

    // The mark at the sink and the table contradict each other.
    foreign_mark,     ///< The mark belongs to another message table.
    restored,         ///< The mark has what the database never had: an old copy.
    foreign_sink,     ///< The rows went to another sink before.
    mark_lost,        ///< The sink knows less than it once acknowledged.
    nothing_refused,  ///< The shard is not refused: there is nothing to decide.

    // Relays, inboxes and sinks.
    refused,     ///< The function that received the message refused it.
    superseded,  ///< Another relay has taken the shard.
    stopped,     ///< The relay, or the inbox, was stopped.
    bad_file,    ///< The file was not written by a sink.
    /// An fsync of the database's log failed: commits may not be on the disk.
    log_not_synced,
    /// A message with that id was appended before, within the time of `unique_for`.
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
