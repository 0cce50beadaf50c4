// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_FILE_SINK_HPP
#define MORTISE_OUTBOX_FILE_SINK_HPP

#include "mortise/outbox/sink.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <vector>

namespace mortise::outbox {

/// How large the files of a sink grow and how many are kept.
struct file_sink_options {
    /// Closes a file before the next batch once it has messages and at least this many bytes, and
    /// begins another one. Zero: never.
    std::uintmax_t file_bytes = 0;
    /// Keeps this many closed files of each shard and removes older ones, whether they were read or
    /// not. Zero: keeps all files until somebody removes them.
    std::size_t files_kept = 0;
};
static_assert(std::is_trivially_destructible_v<file_sink_options>, "docs/compilers.md, G1");

/// A sink that appends to the files `FOLDER/SHARD.messages`, each message exactly once. Use it for
/// programs without a broker, for tests, and to see what would be sent.
///
/// Each message is one line with parts separated by tabs: `message`, row number, id, topic, key,
/// payload, and `NAME=VALUE` for each header. Bytes other than letters, digits and `-._~` are
/// written as `%XX`; an absent key or payload is `%`. A line that begins with `mark` follows the
/// messages of each batch. Lines after the last mark belong to an unfinished batch. The sink cuts
/// them off when it opens the file again, so a reader must stop at the last mark.
///
/// With `file_bytes`, a file that has grown to that size is closed: it is renamed to
/// `FOLDER/SHARD.NUMBER.messages`, never written again, and may be removed once it was read. The
/// next file begins with the mark at which the previous one ended. A crash between the two steps
/// leaves one file with two names; the next opening repairs that.
///
/// The writer locks the file (`flock`). The folder must support hard links.
///
/// @par Cost One write and one fdatasync for each batch, on a thread of its own. Three more syncs
///           for each file that is closed.
sink_factory make_file_sink(std::filesystem::path folder, file_sink_options options = {});

/// Reads the messages of one such file, without those of an unfinished batch.
/// @throws error `bad_file`, and the errors of the system.
std::vector<outgoing> read_message_file(const std::filesystem::path& file);

/// Lists the files of a shard, the oldest first: the closed ones, then the one that is written. All
/// but the last may be removed once they were read.
std::vector<std::filesystem::path>
message_files(const std::filesystem::path& folder, std::uint32_t shard);

/// Reads the messages of a shard after a row (`outgoing::row`) from all its files, in order. A sink
/// may write and close files meanwhile.
///
/// @param after The row of the message that was read last; zero: from the beginning. Without a
///              value: from the oldest file that still exists.
/// @throws error `files_removed` if files with messages after that row are gone; `bad_file`, and
///         the errors of the system.
std::vector<outgoing> read_message_files(
    const std::filesystem::path& folder, std::uint32_t shard, std::optional<std::int64_t> after = {}
);

}  // namespace mortise::outbox

#endif
