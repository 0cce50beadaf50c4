// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_NEMESIS_HPP
#define MORTISE_TESTS_STORM_NEMESIS_HPP

#include "mortise/coro/clock.hpp"
#include "storm/crew.hpp"
#include "storm/ground.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace mortise::storm {

/// Kills and stops processes at random for some time, starts others in the place of the killed, and
/// shakes the ground.
class nemesis {
public:
    nemesis(const settings& how, crew& workers, ground& over, const board& shared);

    /// Does harm for `span`. Afterwards all processes run, and none is stopped.
    asio::awaitable<void> rage(std::chrono::milliseconds span);

private:
    /// A step to take later for the process on a seat.
    struct task {
        clock::time_point when;
        std::size_t seat = 0;
        bool start = false;  ///< Otherwise resume it.
    };

    void strike(clock::time_point now);
    void do_what_is_due(clock::time_point now);
    std::optional<std::size_t> draw_victim();
    std::chrono::milliseconds drawn(int least, int most);

    const settings how_;
    crew& workers_;
    ground& over_;
    const board& shared_;
    std::mt19937_64 dice_;
    std::vector<task> tasks_;
};

}  // namespace mortise::storm

#endif
