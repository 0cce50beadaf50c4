// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_CLUSTER_GROUND_HPP
#define MORTISE_TESTS_STORM_CLUSTER_GROUND_HPP

#include "storm/fault_dice.hpp"
#include "storm/ground.hpp"
#include "storm/settings.hpp"
#include "support/redis_cluster.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {

/// A Redis Cluster of three primaries and three replicas, whose slots move and whose primaries are
/// stopped, killed, restarted and replaced, one fault after the other.
class cluster_ground final : public ground {
public:
    explicit cluster_ground(const settings& how);

    std::string url(std::size_t seat) const override;
    void shake(clock::time_point now) override;
    void settle() override;
    std::vector<std::pair<std::string, std::size_t>> blows() const override {
        return dice_.counts();
    }
    std::string residue() override;

private:
    enum class deed : std::uint8_t {
        throw_out,  ///< Ends the connections of all clients at a primary.
        stop,       ///< Stops a primary (SIGSTOP) for less than its replica would stand.
        freeze,     ///< Stops it until its replica has taken over: it wakes as a false primary.
        crash,      ///< Kills it; its replica takes over, and it returns as a replica.
        restart,    ///< Kills it, and starts it at once, without memory.
        hand_over,  ///< Lets it hand over to its replica, as an administrator does.
        move,       ///< Moves the slot of a lock, half of its keys now and the rest later.
        count,
    };
    static constexpr auto deeds = static_cast<std::size_t>(deed::count);

    void begin(clock::time_point now);
    /// False if it is not over yet.
    bool end(clock::time_point now);
    bool partner_leads() const;
    /// Of the bucket that has most.
    std::int64_t most_sessions() const;

    const std::chrono::milliseconds ttl_;
    test::redis_cluster cluster_{test::redis_cluster::replicas::one_each};
    fault_dice dice_;
    deed present_ = deed::count;
    std::size_t victim_ = 0;
    std::string moving_;  ///< A key of the slot.
    std::size_t goal_ = 0;
    clock::time_point due_;
    clock::time_point give_up_;
};

}  // namespace mortise::storm

#endif
