// SPDX-License-Identifier: BSL-1.0
#include "sinks/message_file.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "mortise/store_types.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::outbox::sinks {
namespace {

// The longest line: a message of 64 MiB, with three characters for each byte, and the other parts.
constexpr std::size_t line_max = 256u << 20u;

error_code last_error() noexcept {
    return {errno, boost::system::system_category()};
}

// Puts a new folder entry on the disk: syncing the file alone does not.
error_code sync_folder(const std::filesystem::path& folder) noexcept {
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return last_error();
    const error_code failure = ::fsync(opened) == 0 ? error_code() : last_error();
    ::close(opened);
    return failure;
}

bool is_same_file(const std::filesystem::path& path, int opened) noexcept {
    struct stat there {};
    struct stat ours {};
    return ::stat(path.c_str(), &there) == 0 && ::fstat(opened, &ours) == 0 &&
           there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

constexpr const char* ending = ".messages";
constexpr std::size_t digits = 20;  // of the largest sequence number

std::string beginning(std::uint32_t shard) {
    return std::to_string(shard) + '.';
}

bool is_closed_file(const std::string& name, std::uint32_t shard) {
    const std::string begin = beginning(shard);
    return name.size() == begin.size() + digits + std::string_view(ending).size() &&
           name.starts_with(begin) && name.ends_with(ending) &&
           name.find_first_not_of("0123456789", begin.size()) == begin.size() + digits;
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
        auto end = rest.size();  // What was read earlier has no line end.
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
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        return error_code(failure.value(), boost::system::system_category());
    folder_ = folder;
    shard_ = shard;
    auto found = lock_and_read();
    if (!found)
        close();
    return found;
}

result<file_contents> message_file::lock_and_read() {
    const auto path = present_file(folder_, shard_);
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) != 0)
        return last_error();
    if (!is_same_file(path, file_))  // Another process closed the file between the two calls.
        return error_code(EAGAIN, boost::system::system_category());
    auto found = read_lines(file_, false);
    if (!found)
        return found;
    // Sync what a dead process wrote and may not have synced: the sink relies on it from now on.
    if (::ftruncate(file_, static_cast<off_t>(found->whole)) != 0 || ::fdatasync(file_) != 0)
        return last_error();
    if (found->id.empty()) {
        found->id = random_id::draw().text();
        error_code failed = write(file_, head_line(found->id));
        if (!failed)
            failed = sync_folder(folder_);
        if (failed)
            return failed;
    }
    id_ = found->id;
    last_ = found->last;
    has_messages_ = found->has_messages;
    end_rotation();
    return found;
}

// Removes the leftovers of a crash: the closed name may exist although no next file was begun.
void message_file::end_rotation() const {
    ::unlink(next_file(folder_, shard_).c_str());
    if (!last_)
        return;
    const auto closed = closed_file(folder_, shard_, last_->sequence);
    if (is_same_file(closed, file_))
        ::unlink(closed.c_str());
}

// Appends lines, and takes them back if they may be on the disk only in part. The next reader then
// sees the file as it is in memory.
error_code message_file::append(std::string_view lines, const mark& after, bool has_messages) {
    off_t before = ::lseek(file_, 0, SEEK_END);
    if (before < 0)
        return last_error();
    const bool is_long = bounds_.file_bytes > 0 &&
                         static_cast<std::uintmax_t>(before) >= bounds_.file_bytes && has_messages_;
    if (is_long) {
        if (const error_code failed = begin_next())
            return failed;
        before = ::lseek(file_, 0, SEEK_END);
        if (before < 0)
            return last_error();
    }
    const error_code failed = write(file_, lines);
    if (failed) {
        if (::ftruncate(file_, before) == 0)
            ::fdatasync(file_);
        return failed;
    }
    last_ = after;
    has_messages_ = has_messages_ || has_messages;
    return {};
}

// Begins the next file. A crash at any step leaves the present file whole, under its own name.
error_code message_file::begin_next() {
    MORTISE_ASSERT(last_);
    const auto next = next_file(folder_, shard_);
    int descriptor = -1;
    error_code failed = begin_with(next, descriptor);
    if (!failed)
        failed = give_name(closed_file(folder_, shard_, last_->sequence));
    if (!failed) {
        MORTISE_CRASH_POINT("file_sink.linked");
        failed = sync_folder(folder_);
    }
    if (!failed && ::rename(next.c_str(), present_file(folder_, shard_).c_str()) != 0)
        failed = last_error();
    if (failed) {
        if (descriptor >= 0)
            ::close(descriptor);
        end_rotation();
        return failed;
    }
    MORTISE_CRASH_POINT("file_sink.renamed");
    close();
    file_ = descriptor;
    has_messages_ = false;
    failed = sync_folder(folder_);
    if (!failed)
        remove_oldest();
    return failed;
}

// Creates the file and locks it before anybody can see it.
error_code message_file::begin_with(const std::filesystem::path& path, int& descriptor) {
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        return last_error();
    return write(descriptor, head_line_of_next(id_) + mark_line(*last_));
}

error_code message_file::give_name(const std::filesystem::path& closed) const {
    if (::link(present_file(folder_, shard_).c_str(), closed.c_str()) == 0)
        return {};
    const error_code failed = last_error();
    return is_same_file(closed, file_) ? error_code() : failed;
}

void message_file::remove_oldest() const {
    if (bounds_.files_kept == 0)
        return;
    const auto closed = closed_files(folder_, shard_);
    const std::size_t kept = std::min(closed.size(), bounds_.files_kept);
    for (std::size_t i = 0; i < closed.size() - kept; ++i)
        ::unlink(closed[i].c_str());
}

error_code message_file::write(int to, std::string_view lines) {
    while (!lines.empty()) {
        const auto sent = ::write(to, lines.data(), lines.size());
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return last_error();
        lines.remove_prefix(static_cast<std::size_t>(sent));
    }
    MORTISE_CRASH_POINT("file_sink.written");
    return ::fdatasync(to) == 0 ? error_code() : last_error();
}

void message_file::close() noexcept {
    if (file_ >= 0)
        ::close(std::exchange(file_, -1));
}

std::filesystem::path present_file(const std::filesystem::path& folder, std::uint32_t shard) {
    return folder / (std::to_string(shard) + ending);
}

std::filesystem::path next_file(const std::filesystem::path& folder, std::uint32_t shard) {
    return folder / (std::to_string(shard) + ".next");
}

std::filesystem::path
closed_file(const std::filesystem::path& folder, std::uint32_t shard, std::uint64_t sequence) {
    const std::string number = std::to_string(sequence);
    return folder / (beginning(shard) + std::string(digits - number.size(), '0') + number + ending);
}

std::vector<std::filesystem::path>
closed_files(const std::filesystem::path& folder, std::uint32_t shard) {
    std::vector<std::filesystem::path> found;
    std::error_code absent;
    for (const auto& each : std::filesystem::directory_iterator(folder, absent)) {
        if (is_closed_file(each.path().filename().string(), shard))
            found.push_back(each.path());
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace mortise::outbox::sinks
