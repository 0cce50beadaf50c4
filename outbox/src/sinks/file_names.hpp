// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_SINKS_FILE_NAMES_HPP
#define MORTISE_OUTBOX_SRC_SINKS_FILE_NAMES_HPP

#include <cstdint>
#include <filesystem>
#include <vector>

namespace mortise::outbox::sinks {

/// The file to which a shard is written.
std::filesystem::path present_file(const std::filesystem::path& folder, std::uint32_t shard);
/// The file that will take its place.
std::filesystem::path next_file(const std::filesystem::path& folder, std::uint32_t shard);
/// A closed file, by the sequence number of the mark at its end: names sort in the order of
/// writing.
std::filesystem::path
closed_file(const std::filesystem::path& folder, std::uint32_t shard, std::uint64_t sequence);
/// All closed files that exist, the oldest first. None if there is no folder.
std::vector<std::filesystem::path>
closed_files(const std::filesystem::path& folder, std::uint32_t shard);

}  // namespace mortise::outbox::sinks

#endif
