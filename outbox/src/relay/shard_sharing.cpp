// SPDX-License-Identifier: BSL-1.0
#include "relay/shard_sharing.hpp"

#include "mortise/coro/sleep.hpp"
#include "mortise/lock_client.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace mortise::outbox::detail {
namespace {

// With more shards than this, looks are rarer: each shard costs a request to the store.
constexpr std::size_t shards_in_a_look = 16;
constexpr std::size_t waiters_max = 256;

using counts = std::map<session_id, std::size_t>;

counts count(const std::vector<shard_lock>& locks) {
    counts totals;
    for (const auto& each : locks) {
        if (each.holder)
            ++totals[*each.holder];
        for (const auto& waiter : each.waiters)
            totals.try_emplace(waiter, 0);
    }
    return totals;
}

std::optional<session_id> own_session(const std::vector<shard_lock>& locks) {
    for (const auto& each : locks) {
        if (each.mine)
            return each.holder;
    }
    return std::nullopt;
}

bool has_fewer(const counts::value_type& a, const counts::value_type& b) {
    return a.second < b.second;
}

}  // namespace

shard_lock::shard_lock(std::uint32_t of, const lock_view& seen, const fencing_token& own)
    : shard(of) {
    if (!seen.holders.empty()) {
        holder = seen.holders.front().session;
        mine = own && seen.holders.front().token == own;
    }
    for (const auto& each : seen.waiters)
        waiters.push_back(each.session);
}

std::vector<std::uint32_t> surplus(const std::vector<shard_lock>& locks) {
    const auto self = own_session(locks);
    if (!self)
        return {};
    auto has = count(locks);
    const auto richest = std::max_element(has.begin(), has.end(), has_fewer);
    const auto poorest = std::min_element(has.begin(), has.end(), has_fewer);
    if (richest->first != *self || richest->second < poorest->second + 2)
        return {};
    std::vector<std::uint32_t> given;
    std::size_t& mine = has[*self];
    for (auto each = locks.rbegin(); each != locks.rend(); ++each) {
        if (!each->mine || each->waiters.empty())
            continue;
        std::size_t& next = has[each->waiters.front()];
        if (mine < next + 2)
            continue;
        --mine;
        ++next;
        given.push_back(each->shard);
    }
    if (!given.empty())
        return given;
    const auto any = std::find_if(locks.rbegin(), locks.rend(), [](const shard_lock& each) {
        return each.mine && !each.waiters.empty();
    });
    if (any != locks.rend())
        given.push_back(any->shard);
    return given;
}

asio::awaitable<void> shard_sharing::run() {
    while (!relay_.stopping()) {
        const auto portions = std::max<std::size_t>(runners_.size() / shards_in_a_look, 1);
        const auto pause = relay_.config().share_every * portions;
        co_await coro::sleep_for(relay_.time(), pause);
        co_await share_once();
    }
}

std::size_t shard_sharing::count_held() const {
    return static_cast<std::size_t>(std::count_if(
        runners_.begin(),
        runners_.end(),
        [](const auto& each) { return each.second->held().has_value(); }
    ));
}

bool shard_sharing::is_any_leaving() const {
    return std::any_of(runners_.begin(), runners_.end(), [](const auto& each) {
        return each.second->leaving();
    });
}

// Gives shards only after two uneven looks: a relay that comes and goes then moves none. While a
// shard of ours is being given up, the store still shows it as ours, so no look counts then.
asio::awaitable<void> shard_sharing::share_once() {
    const bool uneven_before = std::exchange(uneven_, false);
    if (count_held() < 2 || is_any_leaving())
        co_return;
    std::vector<shard_lock> locks;
    const shard_runners runners = runners_;  // others may be added meanwhile
    for (const auto& [shard, each] : runners) {
        if (each->done())
            continue;
        const auto looked = co_await relay_.config().locks->async_inspect(
            each->lock_name(), waiters_max, with_code
        );
        const auto& [failed, seen] = looked;
        if (failed || relay_.stopping())
            co_return;
        if (seen)
            locks.emplace_back(shard, *seen, each->held().value_or(fencing_token()));
    }
    const auto given = surplus(locks);
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
