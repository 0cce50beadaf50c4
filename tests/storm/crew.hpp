// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_CREW_HPP
#define MORTISE_TESTS_STORM_CREW_HPP

#include "storm/blow.hpp"
#include "storm/board.hpp"
#include "storm/ground.hpp"
#include "storm/resource_desk.hpp"
#include "storm/settings.hpp"

#include <sys/types.h>

#include <cstdint>
#include <random>
#include <vector>

namespace mortise::storm {

/// The processes of a storm, each on its own seat, and the log of the blows against them.
///
/// @throws std::system_error if a necessary system call fails.
class crew {
public:
    crew(const settings& how, const ground& over, const board& shared, resource_desk& desk);
    /// Kills the processes that still run.
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    std::size_t size() const noexcept { return seats_.size(); }
    bool runs(std::size_t at) const noexcept { return seats_[at].pid > 0; }
    bool stopped(std::size_t at) const noexcept { return seats_[at].stop != no_blow; }

    void start(std::size_t at);
    void kill(std::size_t at);
    void stop(std::size_t at);
    void resume(std::size_t at);

    /// Reaps the processes that ended by themselves. @return whether any process is left.
    bool any_left();
    /// How many ended by themselves with a code other than zero, or by a signal.
    std::size_t crashed() const noexcept { return crashed_; }

    /// All blows, in their order.
    const std::vector<blow>& blows() const noexcept { return blows_; }

private:
    static constexpr std::size_t no_blow = static_cast<std::size_t>(-1);

    struct seat {
        pid_t pid = -1;
        std::uint32_t number = 0;
        std::size_t stop = no_blow;  ///< The blow that has stopped it.
    };

    void note_end(seat& whose, int status);

    const settings how_;
    const ground& over_;
    const board& shared_;
    resource_desk& desk_;
    std::mt19937_64 seeds_;
    std::vector<seat> seats_;
    std::vector<blow> blows_;
    std::uint32_t started_ = 0;
    std::size_t crashed_ = 0;
};

}  // namespace mortise::storm

#endif
