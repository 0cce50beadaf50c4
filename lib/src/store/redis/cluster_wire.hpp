// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_CLUSTER_WIRE_HPP
#define MORTISE_STORE_REDIS_CLUSTER_WIRE_HPP

#include "mortise/store/redis.hpp"
#include "store/redis/greeting.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// The nodes of a cluster, as far as they are known: those to try first come first. They begin with
/// the nodes that the user has named, and change with what the cluster says. No I/O.
///
/// @par Threads One strand.
class cluster_nodes {
public:
    static constexpr std::size_t nodes_max = 1'000;  ///< As many as Redis means a cluster to have.

    explicit cluster_nodes(const std::vector<redis_address>& named);

    const redis_address& first() const noexcept { return nodes_.front(); }
    std::size_t count() const noexcept { return nodes_.size(); }

    /// That node has the slot, or is said to have it.
    void prefer(const redis_address& node);
    /// The first one could not be asked.
    void pass_by();
    /// Adds the nodes that an answer to `CLUSTER SLOTS` names; `host` answered.
    void learn(const redis_value& slots, const std::string& host);

private:
    void add(const redis_address& node);

    std::deque<redis_address> nodes_;
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
};

/// Makes a wire to the node that has the slot of the store when it is opened. Later the node itself
/// says that it no longer has it (`MOVED`): the owner of the wire then opens another one.
std::shared_ptr<redis_wire>
make_cluster_wire(const boost::asio::any_io_executor& strand, cluster_settings settings);

}  // namespace mortise::store_detail

#endif
