// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_ZOOKEEPER_VIEWS_HPP
#define MORTISE_STORE_ZOOKEEPER_ZOOKEEPER_VIEWS_HPP

#include "store/zookeeper/lock_state.hpp"
#include "store/zookeeper/zookeeper_link.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// What people see of the locks, and do to them.
///
/// @par Threads   The strand.
/// @par Lifetimes Outlives its calls.
class zookeeper_views {
public:
    explicit zookeeper_views(std::shared_ptr<zookeeper_link> link) : link_(std::move(link)) {}

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max);
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max);
    asio::awaitable<result<bool>> break_(break_order order);
    asio::awaitable<result<std::vector<break_record>>> breaks(std::string name, std::size_t limit);
    asio::awaitable<result<std::vector<store_finding>>> examine();

private:
    /// A lock, and the nodes of its queue that are shown.
    struct sight {
        lock_view view;
        std::vector<std::string> holders;  ///< Their nodes.
        std::string note;                  ///< The data of a node that is the lock.
    };
    using parties = std::map<std::string, party_view>;

    asio::awaitable<result<std::vector<std::string>>> names();
    asio::awaitable<result<sight>> see(std::string name, std::size_t queue_max, parties& known);
    asio::awaitable<result<sight>>
    see_queue(std::string name, std::size_t queue_max, parties& known);
    asio::awaitable<result<sight>> see_node(std::string name, parties& known);
    asio::awaitable<result<bool>> break_queue(break_order order);
    asio::awaitable<result<bool>> break_node(break_order order);
    zk_step record_of(const break_order& order, std::vector<party_view> broken) const;
    /// Of the holder whose node is the lock.
    fencing_token token_of(const zk_answer& node) const {
        return {node.stat.created << fencing_token::sequence_bits, link_->domain()};
    }
    clock::duration age_of(const zk_answer& node) const;
    asio::awaitable<result<lock_state>> read(std::string name);
    asio::awaitable<result<party_view>> party_of(session_id session, parties& known);

    const std::shared_ptr<zookeeper_link> link_;
};

/// Asks to be told of the next change of any lock: sets a watch on the nodes of each, and on the
/// folder of all.
asio::awaitable<error_code> watch_all(std::shared_ptr<zookeeper_link> link);

}  // namespace mortise::store_detail

#endif
