// SPDX-License-Identifier: BSL-1.0
#include "storm/board.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace mortise::storm {
namespace {

constexpr std::size_t head_bytes = 4'096;
static_assert(sizeof(board::head) <= head_bytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

}  // namespace

void fail(const char* action) {
    throw std::system_error(errno, std::generic_category(), action);
}

board::board(int fd, std::size_t size) : fd_(fd), size_(size) {
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (memory_ == MAP_FAILED)
        fail("no shared memory can be mapped");
}

board::board(board&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

board::~board() {
    if (memory_)
        ::munmap(memory_, size_);
    if (fd_ >= 0)
        ::close(fd_);
}

board board::create(std::size_t records) {
    const int fd = ::memfd_create("mortise-storm", MFD_CLOEXEC);
    const std::size_t size = head_bytes + records * sizeof(record);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0)
        fail("no shared memory can be made");
    board result(fd, size);
    ::new (result.memory_) head();
    return result;
}

board board::attach(int fd) {
    struct stat about {};
    if (::fstat(fd, &about) != 0)
        fail("the shared memory was not inherited");
    return board(fd, static_cast<std::size_t>(about.st_size));
}

board::head& board::shared() const noexcept {
    return *std::launder(static_cast<head*>(memory_));
}

record* board::claim() const noexcept {
    const std::uint64_t index = shared().claimed.fetch_add(1);
    if (index >= (size_ - head_bytes) / sizeof(record))
        return nullptr;
    std::byte* const first = static_cast<std::byte*>(memory_) + head_bytes;
    return ::new (first + index * sizeof(record)) record();
}

std::span<const record> board::records() const noexcept {
    const std::byte* const first = static_cast<const std::byte*>(memory_) + head_bytes;
    const std::size_t room = (size_ - head_bytes) / sizeof(record);
    return {
        std::launder(reinterpret_cast<const record*>(first)),
        std::min<std::size_t>(shared().claimed.load(), room)};
}

}  // namespace mortise::storm
