// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_NODE_CALLS_HPP
#define MORTISE_STORE_REDLOCK_NODE_CALLS_HPP

#include "store/redis/redis_scripts.hpp"
#include "store/redlock/ballot.hpp"
#include "store/redlock/node_group.hpp"
#include "store/redlock/node_link.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// What a node is told of a request: its lock, its place among all, its present ballot.
struct request_at_node {
    request_at_node() = default;
    request_at_node(std::string name, const ballot& asked)
        : lock(std::move(name)), key(asked.key()), guess(asked.guess()), joins(asked.joins()) {}

    std::string lock;
    order_key key;
    std::uint64_t guess = 0;
    bool joins = false;
};

// Calls of the scripts of a node for its session; `node_link` adds that.

/// Asks for the vote of the node.
script_call ask_call(const node_link& node, const request_at_node& request);
/// Gives the vote back, to wait for it again.
script_call yield_call(const node_link& node, const request_at_node& request);
/// Frees all that the request has at the node.
script_call free_call(const node_link& node, const request_at_node& request);
/// Raises the counter of the lock to `guess` for the request that holds it.
script_call draw_call(const node_link& node, const request_at_node& held, std::uint64_t guess);
/// Asks whether the votes for these grants are there. At least one of them.
script_call check_call(const node_link& node, const std::vector<request_at_node>& held);

// What is asked of the nodes that have given their votes for a grant.

/// Draws one more base of tokens: a majority raises the counter of the lock to it, as a ballot of
/// the request that holds the lock already.
/// @param voters the nodes that have their votes for the grant.
/// @par Errors `outcome_unknown`: too few of them have answered. `lease_lost`: too few of them have
/// the vote.
asio::awaitable<result<std::uint64_t>>
draw_base(std::shared_ptr<node_group> nodes, request_at_node held, std::vector<std::size_t> voters);

/// Asks a node for the votes for these grants, in portions, as parts of that round.
/// @param tell called for each.
void check_votes(
    node_group& nodes,
    const node_group::round_ptr& round,
    std::size_t node,
    const std::vector<request_at_node>& held,
    const std::function<void(const request_at_node&, checked_votes::vote)>& tell
);

}  // namespace mortise::store_detail

#endif
