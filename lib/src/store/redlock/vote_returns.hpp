// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_VOTE_RETURNS_HPP
#define MORTISE_STORE_REDLOCK_VOTE_RETURNS_HPP

#include "store/redlock/node_calls.hpp"
#include "store/redlock/node_group.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace mortise::store_detail {

/// Frees at the nodes what requests have there. A node that cannot be told is told when it can be
/// reached again, unless the session that had it is dead by then: a live session would keep a vote
/// that nobody wants for ever.
///
/// @par Threads The strand.
class vote_returns final : public std::enable_shared_from_this<vote_returns> {
public:
    explicit vote_returns(std::shared_ptr<node_group> nodes) : nodes_(std::move(nodes)) {}

    struct outcome {
        std::size_t done = 0;  ///< Nodes at which nothing of the request is left.
        std::size_t had = 0;   ///< Nodes that had given it their vote.
        std::size_t owed = 0;  ///< Nodes that could not be told.
    };

    /// Frees all that the request has at all nodes. Waits for a majority, and for as many nodes
    /// that had given it their vote as `votes` says.
    asio::awaitable<outcome> free(request_at_node request, std::size_t votes = 0);
    /// The same, and nobody waits for it.
    void free_later(request_at_node request);
    /// Frees at a node what could not be freed before.
    void pay(std::size_t node);
    /// What the node had for the session ends with it.
    void forget(std::size_t node) { debts_.erase(node); }
    void forget_all() noexcept { debts_.clear(); }

private:
    struct debt {
        debt() = default;

        std::uint64_t serial = 0;  ///< Of the session that has it.
        request_at_node request;
    };

    asio::awaitable<void> run(std::shared_ptr<vote_returns> self, request_at_node request);
    void owe(std::size_t node, std::uint64_t serial, const request_at_node& request);

    const std::shared_ptr<node_group> nodes_;
    std::map<std::size_t, std::map<request_id, debt>> debts_;  ///< By node.
};

}  // namespace mortise::store_detail

#endif
