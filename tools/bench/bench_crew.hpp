// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_BENCH_CREW_HPP
#define MORTISE_TOOLS_BENCH_BENCH_CREW_HPP

#include "bench/bench_board.hpp"
#include "child_process.hpp"
#include "mortise/detail/unique_fd.hpp"
#include "settings.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace mortise::tool {

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
