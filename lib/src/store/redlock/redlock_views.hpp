// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_REDLOCK_VIEWS_HPP
#define MORTISE_STORE_REDLOCK_REDLOCK_VIEWS_HPP

#include "mortise/store_types.hpp"
#include "store/redlock/node_answers.hpp"
#include "store/redlock/node_group.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A lock as a majority of nodes sees it.
///
/// A request that the nodes which are silent may have made the holder is shown as the holder.
/// @param seen   of each node that has answered.
/// @param silent how many have not.
lock_view merge_views(
    std::string name,
    const std::vector<const lock_at_node*>& seen,
    std::size_t silent,
    std::size_t majority,
    const token_domain& tokens
);

/// What people ask of the nodes; no session is needed for it.
///
/// @par Threads The strand.
class redlock_views final : public std::enable_shared_from_this<redlock_views> {
public:
    redlock_views(std::shared_ptr<node_group> nodes, const token_domain& tokens)
        : nodes_(std::move(nodes)), tokens_(tokens) {}

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max);
    asio::awaitable<result<std::vector<lock_view>>>
    views(std::vector<std::string> names, std::size_t queue_max);
    asio::awaitable<result<bool>> break_(break_order order);

private:
    using node_call = std::function<script_call(std::size_t node)>;
    using replies = std::vector<std::optional<redis_value>>;
    using replies_ptr = std::shared_ptr<replies>;
    using names_ptr = std::shared_ptr<std::set<std::string>>;

    asio::awaitable<result<replies_ptr>> ask_all(node_call call);
    asio::awaitable<void> ask_one(
        std::shared_ptr<redlock_views> self,
        node_group::round_ptr round,
        std::size_t node,
        script_call wanted,
        replies_ptr into
    );
    asio::awaitable<void> names_at(
        std::shared_ptr<redlock_views> self,
        node_group::round_ptr round,
        std::size_t node,
        names_ptr into,
        std::shared_ptr<std::size_t> answered
    );
    asio::awaitable<bool> read_names(std::size_t node, names_ptr into);

    const std::shared_ptr<node_group> nodes_;
    const token_domain tokens_;
};

}  // namespace mortise::store_detail

#endif
