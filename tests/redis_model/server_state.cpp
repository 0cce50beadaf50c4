// SPDX-License-Identifier: BSL-1.0
#include "redis_model/server_state.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redis_model {
namespace {

reply invalidation(reply keys) {
    return array({bulk("invalidate"), std::move(keys)});
}

}  // namespace

std::size_t server_state::publish(const std::string& channel, const std::string& text) {
    const auto message = to_value(array_of({"message", channel, text}));
    std::size_t receivers = 0;
    for (const auto& [id, each] : clients) {
        if (!each.channels.contains(channel))
            continue;
        ++receivers;
        each.push(message);
    }
    return receivers;
}

void server_state::tell_changed(const std::set<std::string>& keys, std::uint64_t by) {
    for (const auto& [id, each] : clients) {
        if (!each.tracks || (id == by && !each.hears_itself))
            continue;
        for (const auto& prefix : each.prefixes) {
            std::vector<std::string> named;
            std::copy_if(keys.begin(), keys.end(), std::back_inserter(named), [&](const auto& key) {
                return key.starts_with(prefix);
            });
            if (!named.empty())
                each.push(to_value(invalidation(array_of(named))));
        }
    }
}

void server_state::tell_flushed() {
    for (const auto& [id, each] : clients) {
        if (each.tracks)
            each.push(to_value(invalidation(no_value())));
    }
}

}  // namespace mortise::redis_model
