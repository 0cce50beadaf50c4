// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_BOARD_HPP
#define MORTISE_TOOLS_BENCH_BENCH_BOARD_HPP

#include "bench/contend_record.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mortise::tool {

/// Memory that all processes of one measurement share: counters, and a log of grants.
class bench_board {
public:
    struct counters {
        std::atomic<std::uint32_t> stop{0};         ///< Not zero: end at the next turn.
        std::atomic<std::uint32_t> rest{0};         ///< Not zero: rest between two turns.
        std::atomic<std::uint32_t> echoing{0};      ///< Not zero: the process echoes messages.
        std::atomic<std::uint32_t> last_holder{0};  ///< The index of the process, plus one.
        std::atomic<std::uint64_t> handoffs{0};    ///< Grants that followed one of another process.
        std::atomic<std::uint64_t> claimed{0};     ///< Records handed out, and more.
        std::atomic<std::uint64_t> pings{0};       ///< Bare datagrams, counted one way,
        std::atomic<std::int64_t> ping_ns{0};      ///< and their total time.
        std::atomic<std::uint64_t> heartbeats{0};  ///< Of all processes, while they worked.
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

    /// Creates a board. @throws failure if there is no memory for it.
    static bench_board create(std::size_t records);

    /// Opens the board behind an inherited descriptor. @throws failure if there is none.
    static bench_board attach(int fd);

    bench_board(bench_board&& other) noexcept;
    bench_board& operator=(bench_board&&) = delete;
    ~bench_board();

    int descriptor() const noexcept { return fd_.get(); }
    counters& shared() const noexcept;
    std::span<contend_record> records() const noexcept;

private:
    bench_board(detail::unique_fd fd, void* memory, std::size_t size) noexcept;
    static bench_board map(detail::unique_fd fd, std::size_t size);

    detail::unique_fd fd_;
    void* memory_;
    std::size_t size_;
};

}  // namespace mortise::tool

#endif
