// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_board.hpp"

#include "failure.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <utility>

namespace mortise::tool {
namespace {

constexpr std::size_t counters_size = 4'096;  // a page apart from the records
static_assert(sizeof(bench_board::counters) <= counters_size);

}  // namespace

bench_board::bench_board(detail::unique_fd fd, void* memory, std::size_t size) noexcept
    : fd_(std::move(fd)), memory_(memory), size_(size) {}

bench_board::bench_board(bench_board&& other) noexcept
    : fd_(std::move(other.fd_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

bench_board::~bench_board() {
    if (memory_ != nullptr)
        ::munmap(memory_, size_);
}

bench_board bench_board::map(detail::unique_fd fd, std::size_t size) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED)
        throw failure::of_errno("no shared memory can be mapped");
    return bench_board(std::move(fd), memory, size);
}

bench_board bench_board::create(std::size_t records) {
    detail::unique_fd fd(::memfd_create("mortise-bench", MFD_CLOEXEC));
    const std::size_t size = counters_size + records * sizeof(contend_record);
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
        throw failure::of_errno("no shared memory can be made");
    bench_board board = map(std::move(fd), size);
    ::new (board.memory_) counters();
    return board;
}

bench_board bench_board::attach(int fd) {
    detail::unique_fd owned(fd);
    struct stat about {};
    if (::fstat(fd, &about) != 0)
        throw failure::of_errno("the shared memory was not inherited");
    return map(std::move(owned), static_cast<std::size_t>(about.st_size));
}

bench_board::counters& bench_board::shared() const noexcept {
    return *std::launder(static_cast<counters*>(memory_));
}

std::span<contend_record> bench_board::records() const noexcept {
    auto* first = static_cast<std::byte*>(memory_) + counters_size;
    return {
        std::launder(reinterpret_cast<contend_record*>(first)),
        (size_ - counters_size) / sizeof(contend_record)};
}

}  // namespace mortise::tool
