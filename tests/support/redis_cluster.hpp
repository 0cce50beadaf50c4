// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_CLUSTER_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_CLUSTER_HPP

#include "support/port_reservation.hpp"
#include "support/redis_server.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mortise::test {

/// A Redis Cluster on loopback: each primary has an equal part of the slots, and maybe a replica
/// that takes over when it has said nothing for some 1.5 s.
///
/// @par Threads As redis_server.
class redis_cluster {
public:
    enum class replicas { none, one_each };

    /// @param more for each node, as redis_server; with "tls-cert-file" the cluster speaks TLS, and
    ///             names the ports for that.
    /// @throws std::runtime_error with a log, if the nodes do not agree
    explicit redis_cluster(replicas each = replicas::none, const redis_server::settings& more = {});

    static constexpr std::size_t primaries = 3;

    std::size_t size() const noexcept { return nodes_.size(); }
    redis_server& node(std::size_t index) const { return *nodes_.at(index); }
    /// The node that has the slot of that key, and a primary that has not.
    std::size_t owner_of(const std::string& key);
    std::size_t other_than(std::size_t index) const { return (index + 1) % primaries; }

    /// What has moved of the keys of a slot.
    enum class part { none, half };
    /// Begins to move the slot of a key to another primary.
    void begin_to_move(const std::string& key, std::size_t to, part moved = part::half);
    /// Moves the rest, and makes it known.
    void end_moving(const std::string& key, std::size_t to);

    /// Whether that node runs and is a primary. It must not be suspended.
    bool is_primary(std::size_t index) const;
    /// The other node of its shard, if there are replicas.
    std::size_t partner_of(std::size_t index) const { return (index + primaries) % size(); }
    /// Whether all nodes run, serve all slots, and each primary has its replica.
    bool is_whole() const;

    /// Waits until another node has the slot, and takes writes. @return that node
    std::size_t wait_for_other_owner(const std::string& key, std::size_t old);

private:
    std::string id_of(std::size_t index);
    std::string slot_of(const std::string& key);
    void move_keys(const std::string& slot, std::size_t from, std::size_t to, std::size_t limit);
    bool complete() const;

    const bool tls_;
    std::vector<std::unique_ptr<port_reservation>> bus_ports_;
    std::vector<std::unique_ptr<redis_server>> nodes_;
};

/// One cluster of three primaries for all tests of this program that need only keys of their own.
redis_cluster& shared_cluster();

}  // namespace mortise::test

#endif
