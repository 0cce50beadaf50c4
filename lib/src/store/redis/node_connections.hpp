// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_NODE_CONNECTIONS_HPP
#define MORTISE_STORE_REDIS_NODE_CONNECTIONS_HPP

#include "store/redis/greeting.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

namespace asio = boost::asio;

class node_connection;

/// The connections of one client to the nodes of a cluster: one to each node, which all wires to it
/// share. A wire has its own subscriptions, keys that it tracks, and end: what another wire of the
/// same connection does is not told to it. Commands of several wires are answered in their order.
///
/// A connection is opened by the first wire that needs it and closed by the last one. When it ends
/// by itself, all of its wires end. They end as well when one of them gives up waiting for a node
/// (`redis_wire::abandon`) that is silent; when it is only slow, that one ends.
///
/// @par Threads One strand.
class node_connections : public std::enable_shared_from_this<node_connections> {
public:
    node_connections() = default;
    ~node_connections();
    node_connections(const node_connections&) = delete;
    node_connections& operator=(const node_connections&) = delete;

    /// Makes a wire to the node in the settings; all wires of this object have the same ones but
    /// for host and port. A subscription there is to a channel of the slot (`SSUBSCRIBE`), unless
    /// the server knows none.
    std::shared_ptr<redis_wire> wire_to(const asio::any_io_executor& strand, wire_settings node);

    /// While it lives, connections stay open that no wire uses for a moment.
    std::shared_ptr<const void> keep();

    /// Ends all of them, with what is asked there.
    void end_all() noexcept;

    /// Has all commands of this turn of the strand go out together: one write for each node.
    void gather(const asio::any_io_executor& strand);

    /// How many there are, open or being opened.
    std::size_t size() const noexcept { return by_node_.size(); }

private:
    friend class node_connection;

    std::shared_ptr<node_connection>
    connection_to(const asio::any_io_executor& strand, wire_settings node);
    bool keeps_unused() const noexcept { return !kept_.expired(); }
    void close_unused() noexcept;
    void forget(const node_connection& ended) noexcept;
    void hold_back(bool held) noexcept;
    /// As they are now: what is done with one may take it away.
    std::vector<std::shared_ptr<node_connection>> all() const;

    std::map<std::string, std::shared_ptr<node_connection>> by_node_;
    std::weak_ptr<const void> kept_;
    bool gathers_ = false;

    friend class shared_wire;
};

}  // namespace mortise::store_detail

#endif
