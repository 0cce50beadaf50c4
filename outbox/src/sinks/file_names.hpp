// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_SINKS_FILE_NAMES_HPP
#define MORTISE_OUTBOX_SRC_SINKS_FILE_NAMES_HPP

#include <cstdint>
#include <filesystem>
#include <vector>

namespace mortise::outbox::sinks {

/// The file that a shard is written to.
std::filesystem::path present_file(const std::filesystem::path& folder, std::uint32_t shard);
/// The one that takes its place next.
std::filesystem::path next_file(const std::filesystem::path& folder, std::uint32_t shard);
/// One that is closed, by the sequence number of the mark at its end: names sort as they were
/// written.
std::filesystem::path
closed_file(const std::filesystem::path& folder, std::uint32_t shard, std::uint64_t sequence);
/// All that are closed and there, the oldest first. None if there is no folder.
std::vector<std::filesystem::path>
closed_files(const std::filesystem::path& folder, std::uint32_t shard);

}  // namespace mortise::outbox::sinks

#endif
