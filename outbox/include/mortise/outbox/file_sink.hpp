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

/// How much of a sink's files is kept.
struct file_sink_options {
    /// A file with messages and at least so many bytes is closed before the next batch, and another
    /// begun; zero: never.
    std::uintmax_t file_bytes = 0;
    /// So many closed files of each shard are kept, and older ones removed, whether anybody has
    /// read them or not; zero: all, until somebody removes them.
    std::size_t files_kept = 0;
};
static_assert(std::is_trivially_destructible_v<file_sink_options>, "docs/compilers.md, G1");

/// A sink that appends to the files `FOLDER/SHARD.messages`, each message exactly once: for
/// programs that need no broker, for tests, and to see what would be sent.
///
/// A line for each message, parts separated by tabs, bytes other than letters, digits and `-._~` as
/// `%XX`: `message`, number of the row, id, topic, key, payload, and `NAME=VALUE` for each header;
/// a key or payload that is not there is `%`. After the messages of a batch a line with `mark`:
/// what follows the last one is of a batch that was not finished, and is cut off when the file is
/// opened again. So a reader stops at the last such line.
///
/// With `file_bytes` a file that has grown so long is closed: it is called
/// `FOLDER/SHARD.NUMBER.messages` from then on, is never written again, and may be removed when it
/// was read. The next file begins with the mark at which the one before ended. A crash in between
/// leaves one file with two names, which is mended when the file is opened again.
///
/// The file is locked (`flock`) by the one that writes it. Its folder has to take hard links.
///
/// @par Cost One write and one fdatasync for each batch, on a thread of its own; for each file that
///           is closed three more syncs.
sink_factory make_file_sink(std::filesystem::path folder, file_sink_options options = {});

/// The messages of such a file, without those of a batch that is not finished.
/// @throws error `bad_file`, and what the system says.
std::vector<outgoing> read_message_file(const std::filesystem::path& file);

/// The files of a shard, the oldest first: those that are closed, then the one that is written.
/// All but the last may be removed when they were read.
std::vector<std::filesystem::path>
message_files(const std::filesystem::path& folder, std::uint32_t shard);

/// The messages of a shard in all its files after that row (`outgoing::row`), in their order, also
/// while a sink writes and closes files.
///
/// @param after the row of the message that was read last; zero: from the beginning. Nothing: from
///              what there is, whatever was removed before.
/// @throws error `files_removed` if messages after that row were in files that are gone;
///         `bad_file`, and what the system says.
std::vector<outgoing> read_message_files(
    const std::filesystem::path& folder, std::uint32_t shard, std::optional<std::int64_t> after = {}
);

}  // namespace mortise::outbox

#endif
