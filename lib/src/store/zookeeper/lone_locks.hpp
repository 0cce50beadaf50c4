// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_LONE_LOCKS_HPP
#define MORTISE_STORE_ZOOKEEPER_LONE_LOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mortise::store_detail {

/// The locks that a session takes again and again while no other session wants them: which of its
/// nodes stand first in their queues, by their numbers alone.
///
/// Servers number the nodes of a queue as they are made under its parent. Who held a lock
/// exclusively by node N was the first in the queue. If N is deleted and the next node of that
/// session has number N + 1, nobody has made one between them: it is first, and the queue need not
/// be read. That holds for one and the same parent; another one would begin to count anew. So a
/// watch on the parent has to be set before N is made: servers tell of the end of a node before
/// they answer what comes after it.
///
/// @par Threads The strand.
class lone_locks {
public:
    /// Whether a watch on the parent of that queue is worth its price: the session had the lock
    /// several times without another one between.
    bool wants_watch(const std::string& name) const;
    /// Notes that the watch is sent, before the node of the next request.
    void note_watch(const std::string& name);
    /// Whether the next node of the session will be the first, if its number is the next one.
    bool expects(const std::string& name) const;
    /// Notes the number of a node that the session has made.
    /// @return whether that node is the first in the queue
    bool note_creation(const std::string& name, std::uint32_t number);
    /// Notes that the session has deleted that node, by which it had the lock exclusively and, as
    /// far as it knew, nobody waited.
    void note_deletion(const std::string& name, std::uint32_t number);
    /// Notes that the parent may be another one, or may not be watched.
    void doubt(const std::string& name);
    /// Notes that no watch may be set any more.
    void doubt_all() { locks_.clear(); }

    /// As many parents are watched at a time, at most.
    static constexpr std::size_t locks_max = 256;

private:
    struct lone_lock {
        /// That of the next node, if nobody comes between; known while the session has none there.
        std::optional<std::uint32_t> next;
        int in_a_row = 0;  ///< Nodes that nobody came before.
        bool watched = false;
        bool sure = false;  ///< `next` was counted under the watch.
    };

    const lone_lock* find(const std::string& name) const;
    bool make_room();

    std::map<std::string, lone_lock> locks_;
};

}  // namespace mortise::store_detail

#endif
