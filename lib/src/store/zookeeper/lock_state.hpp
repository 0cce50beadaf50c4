// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_ZOOKEEPER_LOCK_STATE_HPP
#define MORTISE_STORE_ZOOKEEPER_LOCK_STATE_HPP

#include "store/zookeeper/node_names.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// The queue of a lock, as its nodes and the text in their parent say.
///
/// Who is first in the queue holds the lock exclusively: that is written nowhere. Grants of the
/// other modes are written in the parent, since they have a slot, or share a token: the base of the
/// readers' token, and the number and slot of each node. Rows of nodes that are gone mean nothing.
/// A change of the text is compared with its version, and is made together with what it causes.
class lock_state {
public:
    /// A node that gets the lock.
    struct due_grant {
        queue_node node;
        std::uint32_t slot = 0;
        /// The first reader of a phase: the readers' token has the base of this node.
        bool begins_phase = false;
    };

    /// A queue without nodes.
    lock_state() = default;
    /// @param text of the parent, and the version of that; needed only if somebody is there in
    ///             another mode than exclusive.
    lock_state(
        const std::vector<std::string>& children, const std::string& text, std::int32_t version
    );

    std::int32_t version() const noexcept { return version_; }
    /// The number of the reading: a greater one is newer.
    std::uint64_t reading() const noexcept { return reading_; }
    void set_reading(std::uint64_t number) noexcept { reading_ = number; }
    bool all_exclusive() const noexcept;

    /// The nodes in their order.
    const std::vector<queue_node>& nodes() const noexcept { return nodes_; }
    /// The place of a request's node; `nodes().size()`: it is not there.
    std::size_t place_of(const session_id& session, request_id request) const noexcept;
    std::size_t place_of(const std::string& node) const noexcept;

    bool holds(std::size_t place) const;
    std::uint32_t slot_of(std::size_t place) const;
    /// Of the readers that hold the lock: the base of their token.
    std::uint64_t phase() const noexcept { return phase_; }
    /// Whether a node of another session waits.
    bool others_wait(const session_id& session) const;
    bool anybody_waits() const;
    /// Whether it is the first that waits: all before it hold the lock.
    bool waits_first(std::size_t place) const;
    /// How many nodes of other sessions have that number, or a later one.
    std::uint32_t
    made_by_others_since(std::uint32_t number, const session_id& session) const noexcept;
    /// The number of permits of the first node that wants one; zero: there is none.
    std::uint32_t capacity_before(std::size_t place) const noexcept;

    /// Who gets the lock now, but for the first in the queue, which needs no grant to hold it
    /// exclusively.
    std::vector<due_grant> due() const;
    bool is_due(std::size_t place) const;

    void remove(std::size_t place);
    /// Notes a grant. @param base of the readers' token, if a phase begins.
    void grant(const due_grant& given, std::uint64_t base);
    /// The text for the parent.
    std::string text() const;

private:
    void read(const std::string& text);
    std::size_t first_waiting() const;

    std::vector<queue_node> nodes_;
    std::int32_t version_ = 0;
    std::uint64_t reading_ = 0;
    std::uint64_t phase_ = 0;
    std::map<std::uint32_t, std::uint32_t> slots_;  ///< Of grants that are written: by number.
};

}  // namespace mortise::store_detail

#endif
