// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_WATCH_TABLE_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_WATCH_TABLE_HPP

#include "zookeeper/zk_session.hpp"

#include <set>
#include <string>

namespace mortise::zookeeper_model {

/// The paths that one client watches, as its server has them, and the client itself, to set them
/// again. A watch sees one event, and is gone.
class watch_table {
public:
    void watch_data(const std::string& path) { data_.insert(path); }
    void watch_children(const std::string& path) { children_.insert(path); }

    /// Whether a watch waits for that event. It is gone then.
    bool take(const zookeeper_detail::zk_event& event) {
        using kind = zookeeper_detail::zk_event::kind;
        switch (event.type) {
        case kind::children:
            return children_.erase(event.path) != 0;
        case kind::deleted: {
            const bool by_children = children_.erase(event.path) != 0;
            return data_.erase(event.path) != 0 || by_children;
        }
        case kind::created:
        case kind::changed:
            break;
        }
        return data_.erase(event.path) != 0;
    }

    bool empty() const noexcept { return data_.empty() && children_.empty(); }
    const std::set<std::string>& data() const noexcept { return data_; }
    const std::set<std::string>& children() const noexcept { return children_; }

private:
    std::set<std::string> data_;
    std::set<std::string> children_;
};

}  // namespace mortise::zookeeper_model

#endif
