// SPDX-License-Identifier: BSL-1.0
#include "log/log_mark.hpp"

#include "mortise/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace mortise::txn::log {
namespace {

// The file is a row of words of eight bytes, lowest byte first.
constexpr std::uint64_t magic = 0x316b72616d78746dULL;  // "mtxmark1"
enum place : std::size_t { at_magic, at_log, at_number, at_changes };
constexpr std::size_t partitions_max = 256;
constexpr std::size_t words = at_changes + partitions_max;

std::filesystem::path beside(const std::filesystem::path& log) {
    std::error_code none;
    auto real = std::filesystem::weakly_canonical(log, none);
    return (real.empty() ? log : real).native() + "-mark";
}

}  // namespace

log_mark::log_mark(const std::filesystem::path& log)
    : path_(beside(log)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0)
        throw error(
            error_code(errno, boost::system::system_category()),
            path_.string(),
            "let the coordinator write beside its log"
        );
}

log_mark::~log_mark() {
    ::close(file_);
}

std::uint64_t log_mark::read(std::size_t place) const noexcept {
    std::array<unsigned char, 8> bytes{};
    const auto at = static_cast<off_t>(place * bytes.size());
    if (::pread(file_, bytes.data(), bytes.size(), at) != static_cast<ssize_t>(bytes.size()))
        return 0;
    std::uint64_t made = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        made |= std::uint64_t{bytes[i]} << (8 * i);
    return made;
}

bool log_mark::write(std::size_t place, std::uint64_t value) noexcept {
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<unsigned char>(value >> (8 * i));
    const auto at = static_cast<off_t>(place * bytes.size());
    return ::pwrite(file_, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size());
}

// Writes the id of the log last, so that an unfinished mark belongs to no log.
void log_mark::adopt(std::uint64_t log) {
    if (read(at_magic) == magic && read(at_log) == log)
        return;
    write(at_log, 0);
    for (std::size_t i = at_number; i < words; ++i)
        write(i, 0);
    write(at_magic, magic);
    write(at_log, log);
}

std::uint64_t log_mark::changes(std::uint32_t partition) const noexcept {
    return partition < partitions_max ? read(at_changes + partition) : 0;
}

std::uint64_t log_mark::number() const noexcept {
    return read(at_number);
}

void log_mark::raise_changes(std::uint32_t partition, std::uint64_t to) noexcept {
    if (partition < partitions_max && read(at_changes + partition) < to)
        write(at_changes + partition, to);
}

void log_mark::raise_number(std::uint64_t to) noexcept {
    if (read(at_number) < to)
        write(at_number, to);
}

}  // namespace mortise::txn::log
