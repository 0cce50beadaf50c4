// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_WORLD_HPP
#define MORTISE_SIM_WORLD_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/sim/dice.hpp"
#include "mortise/sim/network.hpp"
#include "mortise/sim/process.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::detail {
class seeded_random;
}

namespace mortise::sim {

/// A world of simulated processes in one thread. Coroutines run in it unchanged: each process
/// has a stock `io_context` and a clock of its own. Time stands still while anything is ready, and
/// then jumps to the next moment at which something happens.
///
/// All of it follows from the seed: the same program with the same seed runs the same handlers in
/// the same order (`event_hash` proves it). The order in which processes run that are ready at the
/// same time is random.
///
/// @par Threads One: that of the constructor. One world at a time on a thread.
class world {
public:
    explicit world(std::uint64_t seed);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    /// The world's own time, which no process knows; the clocks of its machines start at an hour or
    /// more.
    clock::time_point now() const noexcept { return now_; }
    dice& random() noexcept { return random_; }
    network& net() noexcept { return net_; }

    /// Adds a process on a machine of its own. It does not run yet, see `process::run`, and lives
    /// as long as the world.
    process& add_process(std::string name);
    /// Adds a process on the same machine as `beside`: they have one clock.
    process& add_process(std::string name, const process& beside);
    const std::vector<std::unique_ptr<process>>& processes() const noexcept { return processes_; }

    /// Calls `event` at that moment, outside all processes.
    void at(clock::time_point when, std::function<void()> event);
    void after(clock::duration span, std::function<void()> event);

    /// @throws the exception that escaped from a process, and `std::runtime_error` if the processes
    ///         do not come to rest.
    void run_for(clock::duration span);
    /// @return whether `done` became true within that time; it is asked after each handler.
    bool run_until(const std::function<bool()>& done, clock::duration limit);

    /// Calls `look` after each handler, until it is replaced: for a judge who sees everything.
    void watch(std::function<void(process&)> look) { look_ = std::move(look); }

    /// Passes each text of `say` to `ear`, with the true time: to follow one run.
    void listen(std::function<void(clock::time_point, std::string_view)> ear) {
        ear_ = std::move(ear);
    }
    bool listened_to() const noexcept { return static_cast<bool>(ear_); }
    void say(std::string_view text) const {
        if (ear_)
            ear_(now_, text);
    }

    /// Adds an event to `event_hash`.
    void note(std::string_view text, std::uint64_t one = 0, std::uint64_t other = 0) noexcept;
    std::uint64_t event_hash() const noexcept { return hash_; }
    /// How many handlers have run.
    std::uint64_t steps() const noexcept { return steps_; }

    /// Kills every process, and drops all planned calls. The destructor does it, too; call it
    /// before objects go away that the processes refer to.
    void end();

    /// Ends the simulation: the function that runs the world throws this exception.
    void fail(std::exception_ptr why) noexcept;

private:
    process& add(std::string name, std::shared_ptr<detail::machine_clock> clock);
    bool run_something();
    bool run_one(process& chosen);
    bool pass_time(clock::time_point end);

    std::unique_ptr<mortise::detail::seeded_random> ids_;
    dice random_;
    clock::time_point now_;
    std::multimap<clock::time_point, std::function<void()>> agenda_;
    network net_;
    std::vector<std::unique_ptr<process>> processes_;
    std::function<void(process&)> look_;
    std::function<void(clock::time_point, std::string_view)> ear_;
    std::exception_ptr failure_;
    std::uint64_t hash_ = 0xcbf29ce484222325;
    std::uint64_t steps_ = 0;
};

}  // namespace mortise::sim

#endif
