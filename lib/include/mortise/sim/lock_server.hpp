// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_LOCK_SERVER_HPP
#define MORTISE_SIM_LOCK_SERVER_HPP

#include "mortise/sim/process.hpp"
#include "mortise/store.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace mortise::detail {
class memory_state;
}

namespace mortise::sim {

class world;

/// A lock server somewhere in the network of a simulated world: the rules of the store in memory,
/// reached by messages that can be late, lost, repeated and cut off.
///
/// The stores of its clients behave like stores over TCP. A call that is not answered in time ends
/// with `outcome_unknown`; then the connection is given up, and a new one opened with a higher
/// generation, so that calls still under way on the old one are refused. A session ends by its TTL
/// only: nobody sees a client die.
///
/// @par Threads The world's.
class lock_server {
public:
    /// @param name of the process that it runs on.
    lock_server(world& in, std::string name);
    ~lock_server();
    lock_server(const lock_server&) = delete;
    lock_server& operator=(const lock_server&) = delete;

    /// A store for a client in the present life of that process.
    /// @param call_max how long a call waits for its answer.
    std::unique_ptr<store>
    make_store(process& client, clock::duration call_max = std::chrono::milliseconds(400));

    /// The process that it runs on: to pause it, to set its clock, to cut it off.
    process& host() noexcept { return host_; }

    /// Kills the process, with all calls that it has not answered, and starts it again later.
    /// @param with_memory whether it then still has its memory; without, every session is gone, and
    ///                    nothing is granted for the longest TTL relied on. Tokens grow anyway.
    void restart_after(clock::duration down, bool with_memory);

    /// Loses the next `count` pushes.
    void lose_pushes(std::size_t count);

    /// Both zero when nothing was left behind.
    std::size_t sessions() const;
    std::size_t entries() const;

private:
    process& host_;
    std::shared_ptr<mortise::detail::memory_state> state_;
};

}  // namespace mortise::sim

#endif
