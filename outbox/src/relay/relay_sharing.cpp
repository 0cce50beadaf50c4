// SPDX-License-Identifier: BSL-1.0
// Passes shards on to relays that have fewer.
#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"
#include "relay/relay_core.hpp"
#include "relay/shard_sharing.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <algorithm>
#include <utility>

namespace mortise::outbox::detail {
namespace {

// With more shards than this, looks are rarer: each shard costs a request to the store.
constexpr std::size_t shards_in_a_look = 16;
constexpr std::size_t waiters_max = 256;

}  // namespace

// Shares shards by the queues of their locks: every relay waits for all shards that it does not
// have, so the queues show all relays.
asio::awaitable<void> relay_core::share() {
    const auto self = shared_from_this();
    while (!stopping_) {
        const auto portions = std::max<std::size_t>(runners_.size() / shards_in_a_look, 1);
        const auto pause = config_.share_every * portions;
        auto sleeping = coro::sleep_for(*time_, pause);
        co_await std::move(sleeping);
        auto sharing = share_once();
        co_await std::move(sharing);
    }
}

std::size_t relay_core::count_held() const {
    return static_cast<std::size_t>(std::count_if(
        runners_.begin(),
        runners_.end(),
        [](const auto& each) { return each.second->held().has_value(); }
    ));
}

bool relay_core::is_any_leaving() const {
    return std::any_of(runners_.begin(), runners_.end(), [](const auto& each) {
        return each.second->leaving();
    });
}

// Gives shards only after two uneven looks: a relay that comes and goes then moves none. While a
// shard of ours is being given up, the store still shows it as ours, so no look counts then.
asio::awaitable<void> relay_core::share_once() {
    const bool uneven_before = std::exchange(uneven_, false);
    if (count_held() < 2 || is_any_leaving())
        co_return;
    std::vector<relay_detail::shard_lock> locks;
    const auto runners = runners_;  // others may be added meanwhile
    for (const auto& [shard, each] : runners) {
        if (each->done())
            continue;
        auto looking = config_.locks->async_inspect(
            each->lock_name(), waiters_max, asio::as_tuple(asio::deferred)
        );
        const auto looked = co_await std::move(looking);
        const auto& [failed, seen] = looked;
        if (failed || stopping_)
            co_return;
        if (seen)
            locks.emplace_back(shard, *seen, each->held().value_or(fencing_token()));
    }
    const auto given = relay_detail::surplus(locks);
    uneven_ = !given.empty() && !uneven_before;
    if (uneven_)
        co_return;
    for (const auto shard : given) {
        const auto runner = runners_.find(shard);
        if (runner != runners_.end() && runner->second->held())
            runner->second->leave();
    }
}

}  // namespace mortise::outbox::detail
