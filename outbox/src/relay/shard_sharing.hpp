// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_RELAY_SHARD_SHARING_HPP
#define MORTISE_OUTBOX_SRC_RELAY_SHARD_SHARING_HPP

#include "mortise/fencing_token.hpp"
#include "mortise/store_types.hpp"
#include "relay/relay_context.hpp"
#include "relay/shard_runner.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mortise::outbox::detail {

/// The lock of a shard, as the store shows it.
class shard_lock {
public:
    shard_lock() = default;  // declared: no aggregate (docs/compilers.md, G3)
    shard_lock(std::uint32_t of, const lock_view& seen, const fencing_token& own);

    std::uint32_t shard = 0;
    std::optional<session_id> holder;
    std::vector<session_id> waiters;  ///< In the order of the queue.
    bool mine = false;                ///< The token is that of our lease.
};

/// Finds the shards to give away, until no relay has two more than another.
///
/// Only the relay with the most shards gives, and one alone if several have as many, for no two to
/// act on the same look. If the difference is below two, it gives nothing: shards do not wander. A
/// lock passes to the first waiter of its queue, so this chooses locks whose first waiter has too
/// few shards. If there is none, it gives one all the same: the next holder then has too many and
/// passes it on to the next waiter.
std::vector<std::uint32_t> surplus(const std::vector<shard_lock>& locks);

/// Passes shards on to relays that have fewer. All relays are known by the queues of the locks,
/// because every relay waits for all shards that it does not have.
///
/// @par Threads   The relay's strand.
/// @par Lifetimes The context and the runners outlive the object.
class shard_sharing {
public:
    shard_sharing(relay_context& relay, const shard_runners& runners)
        : relay_(relay), runners_(runners) {}

    /// Looks at the locks again and again, until the relay stops.
    boost::asio::awaitable<void> run();

private:
    boost::asio::awaitable<void> share_once();
    std::size_t count_held() const;
    bool is_any_leaving() const;

    relay_context& relay_;
    const shard_runners& runners_;
    bool uneven_ = false;  ///< The last look found too many shards here.
};

}  // namespace mortise::outbox::detail

#endif
