// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_SESSION_TRACKER_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_SESSION_TRACKER_HPP

#include "mortise/coro/clock.hpp"
#include "zookeeper_model/znode_tree.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace mortise::zookeeper_model {

/// What the leader of an ensemble knows of its sessions: until when each lives, and by which server
/// it came last. A leader that does not know yet that it was deposed has one, too.
class session_tracker {
public:
    /// Sessions end at whole ticks.
    explicit session_tracker(std::chrono::milliseconds tick) noexcept : tick_(tick) {}

    void track(session_number id, std::chrono::milliseconds timeout, clock::time_point now) {
        entry fresh;
        fresh.timeout = timeout;
        entries_.insert_or_assign(id, fresh);
        touch(id, now);
    }
    void touch(session_number id, clock::time_point now) {
        const auto found = entries_.find(id);
        if (found == entries_.end() || found->second.closing)
            return;
        const auto end = now + found->second.timeout;
        found->second.end = end - end.time_since_epoch() % tick_ + tick_;
    }
    void forget(session_number id) { entries_.erase(id); }
    void clear() { entries_.clear(); }

    /// A client of that server goes on with its session. @return false if it has ended
    bool revalidate(
        session_number id,
        std::size_t server,
        std::chrono::milliseconds timeout,
        clock::time_point now
    ) {
        const auto found = entries_.find(id);
        if (found == entries_.end() || found->second.closing)
            return false;
        found->second.timeout = timeout;
        found->second.owner = server;
        touch(id, now);
        return true;
    }

    /// Whether a request of that session that came by that server may be done.
    error_code check(session_number id, std::size_t server) {
        const auto found = entries_.find(id);
        if (found == entries_.end() || found->second.closing)
            return zk_code::session_expired;
        if (!found->second.owner)
            found->second.owner = server;
        return *found->second.owner == server ? error_code() : zk_code::session_moved;
    }

    /// The sessions whose time is over. They cannot be touched any more.
    std::vector<session_number> take_expired(clock::time_point now) {
        std::vector<session_number> over;
        for (auto& [id, each] : entries_) {
            if (each.closing || each.end > now)
                continue;
            each.closing = true;
            over.push_back(id);
        }
        return over;
    }

private:
    struct entry {
        std::chrono::milliseconds timeout{0};
        clock::time_point end;
        std::optional<std::size_t> owner;
        bool closing = false;
    };

    const std::chrono::milliseconds tick_;
    std::map<session_number, entry> entries_;
};

}  // namespace mortise::zookeeper_model

#endif
