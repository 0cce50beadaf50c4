// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SIM_REDIS_HPP
#define MORTISE_TESTS_REDIS_MODEL_SIM_REDIS_HPP

#include "mortise/sim/process.hpp"
#include "redis_model/model_redis.hpp"
#include "store/redis/redis_wire.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::sim {
class world;
}

namespace mortise::redis_model {

class sim_endpoint;

/// The data that a simulated server still has after a restart.
enum class kept : std::uint8_t {
    all,       ///< All but its connections and scripts.
    nothing,   ///< No keys.
    promoted,  ///< A replica that replaces its primary.
};

/// A Redis server in the network of a simulated world. Wires reach it as over TCP: messages arrive
/// in their order, or the connection breaks. Nobody is told of a cut link. If the server process
/// dies, its machine resets the connections, as far as the network is whole.
///
/// @par Threads The world's. Call `world::end` before the server is destroyed.
class sim_redis {
public:
    /// @param undo_max how many changes a restart can forget.
    sim_redis(sim::world& in, std::string name, std::size_t undo_max = 0);
    ~sim_redis();
    sim_redis(const sim_redis&) = delete;
    sim_redis& operator=(const sim_redis&) = delete;

    /// Wires for a client, for the present life of its process.
    store_detail::redis_wire_factory wires(sim::process& client);

    /// The server's machine: to pause it, to set its clock, to cut it off, or to fail its power
    /// (`crash`).
    sim::process& host() noexcept;
    model_redis& model() noexcept;

    /// The server process dies. Its machine refuses new connections.
    void crash();
    /// The server starts again.
    /// @param changes_lost how many of the last changes are lost.
    void start(kept data = kept::all, std::size_t changes_lost = 0);
    bool runs() const noexcept;
    /// Crashes the server, and starts it after `down` unless it runs by then.
    void restart_after(clock::duration down, kept data = kept::all, std::size_t changes_lost = 0);

    /// Resets the connections, as an administrator can.
    void drop_clients();
    /// Loses the next pushes to any client. The connections stay.
    void lose_pushes(std::size_t count) noexcept;
    /// Steps the server's clock.
    void shift_clock(clock::duration by) noexcept;

    /// How many connections the server believes to have.
    std::size_t connections() const noexcept;

private:
    std::shared_ptr<sim_endpoint> end_;
};

}  // namespace mortise::redis_model

#endif
