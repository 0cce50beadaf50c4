// SPDX-License-Identifier: BSL-1.0
#include "sinks/message_file.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "mortise/store_types.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace mortise::outbox::sinks {
namespace {

// Of a message of 64 MiB, three characters stand for a byte; and the rest of the line.
constexpr std::size_t line_max = 256u << 20u;

error_code last_error() noexcept {
    return {errno, boost::system::system_category()};
}

// A folder entry is on the disk when the folder is.
error_code sync_folder(const std::filesystem::path& folder) noexcept {
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return last_error();
    const error_code came = ::fsync(opened) == 0 ? error_code() : last_error();
    ::close(opened);
    return came;
}

}  // namespace

result<file_contents> read_lines(int fd, bool keep_messages) {
    line_reader reader(keep_messages);
    std::string rest;
    std::array<char, 1u << 16u> block;
    for (;;) {
        const auto got = ::read(fd, block.data(), block.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return last_error();
        if (got == 0 && !reader.may_end_with(rest))
            return error_code(errc::bad_file);
        if (got == 0)
            return std::move(reader.contents());
        std::size_t begin = 0;
        auto end = rest.size();  // there is none in what was read before
        rest.append(block.data(), static_cast<std::size_t>(got));
        for (end = rest.find('\n', end); end != std::string::npos; end = rest.find('\n', begin)) {
            if (!reader.take(std::string_view(rest).substr(begin, end - begin)))
                return error_code(errc::bad_file);
            begin = end + 1;
        }
        rest.erase(0, begin);
        if (rest.size() > line_max)
            return error_code(errc::bad_file);
    }
}

result<file_contents> message_file::open(const std::filesystem::path& folder, std::uint32_t shard) {
    close();
    error_code failed;
    std::error_code made;
    std::filesystem::create_directories(folder, made);
    if (made)
        return error_code(made.value(), boost::system::system_category());
    const auto path = folder / (std::to_string(shard) + ".messages");
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) != 0) {
        failed = last_error();
        close();
        return failed;
    }
    auto found = read_lines(file_, false);
    if (!found) {
        close();
        return found;
    }
    // What a process wrote that died may not be on the disk yet, and is to be relied upon now.
    if (::ftruncate(file_, static_cast<off_t>(found->whole)) != 0 || ::fdatasync(file_) != 0)
        failed = last_error();
    if (!failed && found->id.empty()) {
        found->id = random_id::draw().text();
        failed = append(head_line(found->id));
        if (!failed)
            failed = sync_folder(folder);
    }
    if (failed) {
        close();
        return failed;
    }
    return found;
}

// What may be on the disk only in part is taken back: whoever reads it next sees it as it is in
// memory.
error_code message_file::append(std::string_view lines) {
    const off_t before = ::lseek(file_, 0, SEEK_END);
    if (before < 0)
        return last_error();
    const error_code failed = write(lines);
    if (failed && ::ftruncate(file_, before) == 0)
        ::fdatasync(file_);
    return failed;
}

error_code message_file::write(std::string_view lines) {
    while (!lines.empty()) {
        const auto sent = ::write(file_, lines.data(), lines.size());
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return last_error();
        lines.remove_prefix(static_cast<std::size_t>(sent));
    }
    MORTISE_CRASH_POINT("file_sink.written");
    return ::fdatasync(file_) == 0 ? error_code() : last_error();
}

void message_file::close() noexcept {
    if (file_ >= 0)
        ::close(std::exchange(file_, -1));
}

}  // namespace mortise::outbox::sinks

namespace mortise::outbox {

std::vector<outgoing> read_message_file(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        throw error(
            error_code(errno, boost::system::system_category()),
            file.string(),
            "see that it is there"
        );
    auto found = sinks::read_lines(opened, true);
    ::close(opened);
    if (!found)
        throw error(found.error(), file.string(), "name a file that a sink has written");
    return std::move(found->messages);
}

}  // namespace mortise::outbox
