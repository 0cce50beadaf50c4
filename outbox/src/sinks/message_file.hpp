// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_SINKS_MESSAGE_FILE_HPP
#define MORTISE_OUTBOX_SRC_SINKS_MESSAGE_FILE_HPP

#include "mortise/error.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "sinks/message_lines.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::sinks {

/// A message file that is open for writing, and locked. All functions block.
class message_file {
public:
    explicit message_file(file_sink_options bounds) : bounds_(bounds) {}
    ~message_file() { close(); }
    message_file(const message_file&) = delete;
    message_file& operator=(const message_file&) = delete;

    /// Creates the file if it is missing, and cuts off an unfinished batch. The rest is then on the
    /// disk.
    result<file_contents> open(const std::filesystem::path& folder, std::uint32_t shard);
    /// Appends whole lines, of messages and the mark behind them, and waits until they are on the
    /// disk. After an error none of them remains, unless removing them fails as well. A file that
    /// is long enough is closed for ever first, and another one begun.
    error_code append(std::string_view lines, const mark& after, bool has_messages);
    void close() noexcept;

private:
    result<file_contents> lock_and_read();
    error_code write(int to, std::string_view lines);
    error_code begin_next();
    error_code give_name(const std::filesystem::path& closed) const;
    error_code begin_with(const std::filesystem::path& path, int& descriptor);
    void end_rotation() const;
    void remove_oldest() const;

    const file_sink_options bounds_;
    std::filesystem::path folder_;
    std::uint32_t shard_ = 0;
    std::string id_;
    std::optional<mark> last_;   ///< The mark at the end of the file.
    bool has_messages_ = false;  ///< Without messages it is not closed.
    int file_ = -1;
};

/// Reads a file to its end, without an unfinished batch. @param fd is at the beginning of the file
result<file_contents> read_lines(int fd, bool keep_messages);

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
