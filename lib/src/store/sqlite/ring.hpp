// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_RING_HPP
#define MORTISE_STORE_SQLITE_RING_HPP

#include "mortise/detail/unique_fd.hpp"
#include "store/sqlite/own_session.hpp"

#include <vector>

namespace mortise::store_detail {

/// A connection to a session that must be watched from now on.
struct ring_link {
    ring_link() = default;

    neighbour peer;
    detail::unique_fd connection;
};

/// The sessions that a session must watch, and what was found out while looking.
struct ring_plan {
    ring_plan() = default;

    std::vector<neighbour> wanted;  ///< All that must be watched; others need not be.
    std::vector<ring_link> fresh;   ///< Those of `wanted` that were not watched, connected now.
    std::vector<neighbour> dead;    ///< Proved dead by a socket that refused.
    bool unburied = false;          ///< Somebody was dead before it could be watched.
};

/// Looks at the slots and connects to the successors that are not watched yet. May wait for the
/// disk.
ring_plan plan_ring(const own_session& session, const std::vector<neighbour>& watched);

}  // namespace mortise::store_detail

#endif
