// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_CREW_HPP
#define MORTISE_TOOLS_BENCH_BENCH_CREW_HPP

#include "bench/contend.hpp"
#include "common/child_process.hpp"
#include "common/settings.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

/// The processes of one measurement. Each runs this program again.
class bench_crew {
public:
    /// Starts the processes and waits until all have opened the store.
    /// @throws failure if one of them fails.
    bench_crew(const std::string& store, const bench_settings& bench, const bench_board& board);

    /// Ends the processes that still run.
    ~bench_crew();
    bench_crew(const bench_crew&) = delete;
    bench_crew& operator=(const bench_crew&) = delete;

    /// Starts the measurement in all processes at once.
    void begin();

    /// Waits for `time`, or until all have ended. @return whether they have.
    bool wait_end(std::chrono::milliseconds time);

    /// Lets the processes work for `time`. @throws failure if they all end before that.
    void run_for(std::chrono::milliseconds time);

    /// Kills all processes by SIGKILL, as a power cut would.
    void kill();

    /// @throws failure unless all have ended and succeeded.
    void check();

private:
    child_order order_for(
        unsigned index,
        const std::string& store,
        const bench_settings& bench,
        const bench_board& board
    ) const;
    bool read_ready(std::chrono::milliseconds time);
    void await_ready();
    void end_all() noexcept;

    detail::unique_fd ready_;       // read end: a byte per ready process, the end when all are gone
    detail::unique_fd ready_peer_;  // write end, which the processes inherit
    detail::unique_fd go_;          // write end: closed to begin
    detail::unique_fd go_peer_;     // read end, which the processes inherit
    detail::unique_fd first_socket_;
    detail::unique_fd second_socket_;
    std::vector<child_process> processes_;
    std::size_t ready_count_ = 0;
    bool ended_ = false;
};

}  // namespace mortise::tool

#endif
