// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_GRANTING_SETS_HPP
#define MORTISE_STORE_REDLOCK_GRANTING_SETS_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace mortise::store_detail {

/// The sessions of one client at the nodes, and the sets of them that keep its grants. A set has a
/// proof number; number 0 stands for the newest sessions of all nodes, and keeps no grant.
///
/// The proof of a set counts from the M-th newest heartbeat that its sessions have acknowledged,
/// where M is a majority of all nodes. A set with fewer than M live sessions is lost. No clock, no
/// I/O.
class granting_sets {
public:
    explicit granting_sets(std::size_t nodes) : nodes_(nodes) {}

    std::size_t majority() const noexcept;

    /// The node keeps a new session since a command that was sent at `sent`.
    void opened(std::size_t node, clock::time_point sent);
    /// The node has acknowledged a heartbeat of the present session.
    void acknowledged(std::size_t node, clock::time_point sent);
    clock::time_point acknowledged_at(std::size_t node) const {
        return nodes_.at(node).acknowledged;
    }
    /// The node does not have the session any longer.
    void lost(std::size_t node) noexcept { nodes_.at(node).serial = 0; }
    /// Counts the sessions at a node, from 1; 0 if there is none.
    std::uint64_t serial(std::size_t node) const { return nodes_.at(node).serial; }
    bool lives(std::size_t node) const { return serial(node) != 0; }
    /// Forgets all sessions; the sets stay, as lost ones.
    void lose_all() noexcept;

    /// Notes a grant by the present sessions at these nodes. @return the number of the set.
    proof_number grant(const std::vector<std::size_t>& voters);
    /// The grant is over.
    void release(proof_number number);

    /// Whether at least a majority of the sessions of the set live.
    bool is_kept(proof_number number) const;
    /// The M-th newest acknowledged heartbeat; nothing if the set is lost.
    std::optional<clock::time_point> base(proof_number number) const;
    /// The newest heartbeat that any node has acknowledged; nothing without a session.
    std::optional<clock::time_point> newest() const;
    /// Whether a majority of the set has acknowledged a heartbeat that was sent at `since` or
    /// later.
    bool is_proved_since(proof_number number, clock::time_point since) const;

    /// The same of number 0 and of all sets that keep a grant and are not lost.
    bool are_proved_since(clock::time_point since) const;

    /// The sets that the client need not prove any longer: those that are lost, and those that keep
    /// no grant and are not complete any more.
    std::vector<proof_number> retired() const;
    /// The client knows that the set is lost: its number may stand for another one.
    void forget(proof_number number) { sets_.erase(number); }

private:
    struct session_at_node {
        std::uint64_t serial = 0;
        clock::time_point acknowledged;
    };
    using serials = std::vector<std::uint64_t>;  ///< By node; 0: it is not in the set.
    struct kept_set {
        kept_set() = default;

        serials of;
        std::size_t grants = 0;
    };

    std::vector<clock::time_point> acknowledgements(proof_number number) const;
    std::size_t live(const serials& set) const;

    std::vector<session_at_node> nodes_;
    std::map<proof_number, kept_set> sets_;
    std::uint64_t last_serial_ = 0;
};

}  // namespace mortise::store_detail

#endif
