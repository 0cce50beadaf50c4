// SPDX-License-Identifier: BSL-1.0
#include "relay/shard_sharing.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace mortise::outbox::relay_detail {
namespace {

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

}  // namespace mortise::outbox::relay_detail
