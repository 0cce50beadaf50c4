// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_CLUSTER_WIRE_HPP
#define MORTISE_STORE_REDIS_CLUSTER_WIRE_HPP

#include "mortise/store/redis.hpp"
#include "store/redis/greeting.hpp"
#include "store/redis/node_connections.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// The nodes of a cluster: those that the user has named, and those that the cluster has told, in
/// the order in which to try them. No I/O.
///
/// @par Threads One strand.
class cluster_nodes {
public:
    static constexpr std::size_t nodes_max = 1'000;  ///< As many as Redis means a cluster to have.

    explicit cluster_nodes(std::vector<redis_address> named);

    /// The first one that is not among `tried`.
    std::optional<redis_address> next(const std::vector<redis_address>& tried) const;

    /// That node has the slot, or is said to have it.
    void prefer(const redis_address& node);
    /// That node could not be asked.
    void pass_by(const redis_address& node);
    /// Takes the nodes that an answer to `CLUSTER SLOTS` names in place of those that were told
    /// before; `from` answered.
    void learn(const redis_value& slots, const redis_address& from);

private:
    void add(const redis_address& node);

    const std::vector<redis_address> named_;
    std::vector<redis_address> nodes_;
};

/// Where "MOVED SLOT HOST:PORT" leads; a node that says no host means its own, `host`. Nothing if
/// the message is another one.
std::optional<redis_address> parse_moved(std::string_view message, const std::string& host);

std::string text_of(const redis_address& place);

/// The cluster of a store, and how to connect to its nodes.
struct cluster_settings {
    cluster_settings() = default;

    wire_settings node;                    ///< Without host and port.
    std::string key;                       ///< In the slot of the store.
    std::shared_ptr<cluster_nodes> known;  ///< Shared by all wires of the store.
    /// Connections that wires share; null: each wire has its own.
    std::shared_ptr<node_connections> connections;
};

/// Makes a wire to the node that has the slot of the store when it is opened. Later the node itself
/// says that it no longer has it (`MOVED`): the owner of the wire then opens another one.
std::shared_ptr<redis_wire>
make_cluster_wire(const boost::asio::any_io_executor& strand, cluster_settings settings);

}  // namespace mortise::store_detail

#endif
