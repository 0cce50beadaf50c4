// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/ring.hpp"

#include "sqlite/sockets.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::probe;
using sqlite_detail::probe_life;

ring_plan plan_ring(const own_session& session, const std::vector<neighbour>& watched) {
    ring_plan plan;
    plan.wanted = session.successors();
    plan.unburied = session.unburied();
    for (const auto& each : plan.wanted) {
        if (std::find(watched.begin(), watched.end(), each) != watched.end())
            continue;
        auto tried = probe_life(session.folder(), each.nonce);
        if (tried.result == probe::outcome::connected) {
            plan.fresh.emplace_back();
            plan.fresh.back().peer = each;
            plan.fresh.back().connection = std::move(tried.connection);
        } else if (tried.result == probe::outcome::refused) {
            plan.dead.push_back(each);
        }
        // Any other outcome proves nothing: the next heartbeat tries again, and the TTL is the last
        // resort.
    }
    return plan;
}

}  // namespace mortise::store_detail
