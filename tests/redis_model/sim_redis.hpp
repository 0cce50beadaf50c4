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

/// What a simulated server still knows when it starts again.
enum class kept : std::uint8_t {
    all,       ///< Nothing is forgotten but who was connected, and the scripts.
    nothing,   ///< It has no keys.
    promoted,  ///< It is a replica that takes the place of its primary.
};

/// A Redis server somewhere in the network of a simulated world, reached by wires as over TCP:
/// messages arrive in their order or the connection is broken; a link that is cut tells nobody; a
/// server process that dies has its connections reset by its machine, if the network is whole.
///
/// @par Threads The world's. Call `world::end` before it goes away.
class sim_redis {
public:
    /// @param undo_max how many changes can be forgotten when it starts again.
    sim_redis(sim::world& in, std::string name, std::size_t undo_max = 0);
    ~sim_redis();
    sim_redis(const sim_redis&) = delete;
    sim_redis& operator=(const sim_redis&) = delete;

    /// Wires for a client in the present life of that process.
    store_detail::redis_wire_factory wires(sim::process& client);

    /// Its machine: to pause it, to set its clock, to cut it off, to let its power fail (`crash`).
    sim::process& host() noexcept;
    model_redis& model() noexcept;

    /// The server process dies; its machine refuses whoever comes.
    void crash();
    /// It starts again.
    /// @param changes_lost of the last ones.
    void start(kept what = kept::all, std::size_t changes_lost = 0);
    bool runs() const noexcept;
    /// The one, and the other so much later, unless it runs by then.
    void restart_after(clock::duration down, kept what = kept::all, std::size_t changes_lost = 0);

    /// The connections are reset, as by an administrator.
    void drop_clients();
    /// The next pushes to anybody are lost, and their connections are not.
    void lose_pushes(std::size_t count) noexcept;
    /// Somebody sets its clock.
    void shift_clock(clock::duration by) noexcept;

    /// How many connections it believes to have.
    std::size_t connections() const noexcept;

private:
    std::shared_ptr<sim_endpoint> end_;
};

}  // namespace mortise::redis_model

#endif
