// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_ZNODE_TREE_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_ZNODE_TREE_HPP

#include "zookeeper/zk_session.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::zookeeper_model {

using zookeeper_detail::node_kind;
using zookeeper_detail::node_stat;
using zookeeper_detail::zk_answer;
using zookeeper_detail::zk_code;
using zookeeper_detail::zk_event;
using zookeeper_detail::zk_step;

using session_number = std::int64_t;
/// The number of a transaction: the epoch of its leader, and a count.
using zxid = std::uint64_t;

/// What the leader of an ensemble has put into its order.
struct transaction {
    enum class kind : std::uint8_t { open_session, close_session, change, erase_container };

    zxid number = 0;
    std::int64_t time = 0;  ///< In milliseconds of the leader's time of day.
    kind type = kind::change;
    session_number session = 0;
    std::chrono::milliseconds timeout{0};  ///< Of a session that is opened.
    std::vector<zk_step> steps;            ///< Done as one.
    bool several = false;                  ///< `multi`: the answer has no data of a single step.
    error_code refused;                    ///< The leader has not let it through.
    // Who waits for the answer.
    std::size_t server = 0;
    std::uint64_t connection = 0;
};

/// The nodes and sessions of an ensemble, as one of its servers has them. What it does follows from
/// the transactions alone, so all servers come to the same.
class znode_tree {
public:
    znode_tree() { nodes_.emplace("/", node()); }

    /// Does all of a transaction, or nothing.
    /// @param seen gets what watches may wait for.
    zk_answer apply(const transaction& one, std::vector<zk_event>& seen);

    zk_answer get(const std::string& path) const;
    zk_answer list(const std::string& path) const;

    /// The last transaction.
    zxid last() const noexcept { return last_; }
    const std::map<session_number, std::chrono::milliseconds>& sessions() const noexcept {
        return sessions_;
    }
    /// Containers that have had children, and have none.
    std::vector<std::string> empty_containers() const;

private:
    struct node {
        std::string data;
        node_stat stat;
        std::set<std::string> children;
        bool container = false;
    };

    static std::string parent_of(const std::string& path);
    static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
    node* find(const std::string& path);
    const node* find(const std::string& path) const;
    /// Before a node is changed: as it was, if the transaction fails.
    void keep(const std::string& path);
    void undo();

    error_code step(const transaction& one, const zk_step& wish, zk_answer& answer);
    error_code create(const transaction& one, const zk_step& wish, zk_answer& answer);
    error_code erase(const transaction& one, const zk_step& wish);
    error_code set(const transaction& one, const zk_step& wish, zk_answer& answer);
    error_code check(const zk_step& wish) const;
    void see(zk_event::kind type, const std::string& path);

    std::map<std::string, node> nodes_;
    std::map<session_number, std::chrono::milliseconds> sessions_;
    std::map<session_number, std::set<std::string>> ephemerals_;
    zxid last_ = 0;
    std::vector<std::pair<std::string, std::optional<node>>> before_;  ///< Of a transaction.
    std::vector<zk_event> seen_;
    bool keeps_ = false;  ///< A step of the transaction may fail after another was done.
};

}  // namespace mortise::zookeeper_model

#endif
