// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_SINKS_MESSAGE_FILE_HPP
#define MORTISE_OUTBOX_SRC_SINKS_MESSAGE_FILE_HPP

#include "mortise/error.hpp"
#include "sinks/message_lines.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mortise::outbox::sinks {

/// A message file that is open for writing, and locked. All of it blocks.
class message_file {
public:
    message_file() = default;
    ~message_file() { close(); }
    message_file(const message_file&) = delete;
    message_file& operator=(const message_file&) = delete;

    /// Makes it if it is not there, and cuts off what is not whole. What it holds is on the disk
    /// then.
    result<file_contents> open(const std::filesystem::path& folder, std::uint32_t shard);
    /// Appends whole lines and waits until they are on the disk. After an error none of them is
    /// there, unless the disk fails at that, too.
    error_code append(std::string_view lines);
    void close() noexcept;

private:
    error_code write(std::string_view lines);

    int file_ = -1;
};

/// Reads a file to its end, without what is not whole. @param fd stands at its beginning
result<file_contents> read_lines(int fd, bool keep_messages);

}  // namespace mortise::outbox::sinks

#endif
