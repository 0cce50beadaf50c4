// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_SHARING_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_SHARING_HPP

#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mortise::outbox::relay_detail {

/// The lock of a shard, as the store shows it.
class shard_lock {
public:
    shard_lock() = default;  // declared: no aggregate (docs/compilers.md, G3)
    shard_lock(std::uint32_t of, const lock_view& seen, const fencing_token& own);

    std::uint32_t shard = 0;
    std::optional<session_id> holder;
    std::vector<session_id> waiters;  ///< In their order.
    bool mine = false;                ///< The token is that of our lease.
};

/// The shards that we give away, so that each relay has as many as any other, or one more.
///
/// Only whoever has most gives, and of several such ones one, so that no two act on the same look.
/// Where the difference is less than two it gives nothing: shards do not wander. A lock passes to
/// the first of its queue, so those are chosen whose first waiter has too few. If none is, one is
/// given all the same: its next holder has too many then, and passes it to the next of the queue.
std::vector<std::uint32_t> surplus(const std::vector<shard_lock>& locks);

}  // namespace mortise::outbox::relay_detail

#endif
