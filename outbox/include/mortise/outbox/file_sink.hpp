// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_FILE_SINK_HPP
#define MORTISE_OUTBOX_FILE_SINK_HPP

#include "mortise/outbox/sink.hpp"

#include <filesystem>

namespace mortise::outbox {

/// A sink that appends to the files `FOLDER/SHARD.messages`, each message exactly once: for
/// programs that need no broker, for tests, and to see what would be sent.
///
/// A line for each message, parts separated by tabs, bytes other than letters, digits and `-._~` as
/// `%XX`: `message`, number of the row, id, topic, key, payload, and `NAME=VALUE` for each header;
/// a key or payload that is not there is `%`. After the messages of a batch a line with `mark`:
/// what follows the last one is of a batch that was not finished, and is cut off when the file is
/// opened again. So a reader stops at the last such line.
///
/// The file is locked (`flock`) by the one that writes it.
///
/// @par Cost One write and one fdatasync for each batch, on a thread of its own.
sink_factory make_file_sink(std::filesystem::path folder);

/// The messages of such a file, without those of a batch that is not finished.
/// @throws error `bad_file`, and what the system says.
std::vector<outgoing> read_message_file(const std::filesystem::path& file);

}  // namespace mortise::outbox

#endif
