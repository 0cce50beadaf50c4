// SPDX-License-Identifier: BSL-1.0
#include "relay/drain_list.hpp"

#include <algorithm>
#include <utility>

namespace mortise::outbox::detail {

std::vector<code_handler> drain_list::take_early(std::size_t count) {
    std::vector<code_handler> first;
    for (std::size_t i = 0; i < std::min(count, early_.size()); ++i)
        first.push_back(std::move(early_[i]));
    early_.erase(early_.begin(), early_.begin() + static_cast<std::ptrdiff_t>(first.size()));
    return first;
}

void drain_list::add(code_handler handler, waits shards) {
    if (shards.empty())
        return handler.complete(error_code());
    drain entry;
    entry.shards = std::move(shards);
    entry.handler = std::move(handler);
    drains_.push_back(std::move(entry));
}

/// Removes the shards for which `ended(shard, wanted)` is true, and completes the drains that wait
/// for no shard any longer.
template <class Ended>
void drain_list::end_waits(Ended ended) {
    std::vector<code_handler> over;
    for (auto it = drains_.begin(); it != drains_.end();) {
        std::erase_if(it->shards, [&](const auto& each) { return ended(each.first, each.second); });
        if (!it->shards.empty()) {
            ++it;
            continue;
        }
        over.push_back(std::move(it->handler));
        it = drains_.erase(it);
    }
    for (auto& each : over)
        each.complete(error_code());
}

void drain_list::emptied(std::uint32_t shard, std::uint64_t read) {
    end_waits([&](std::uint32_t other, const wanted& until) {
        return other == shard && read > until.read;
    });
}

void drain_list::marks_seen(const std::vector<table::open_shard>& shards) {
    end_waits([&](std::uint32_t other, const wanted& until) {
        const auto found =
            std::find_if(shards.begin(), shards.end(), [&](const table::open_shard& each) {
                return each.shard == other;
            });
        return found == shards.end() ||
               (!until.look && (found->marked >= until.row || found->last <= found->marked));
    });
}

void drain_list::stuck(std::uint32_t shard, error_code why) {
    for (auto it = drains_.begin(); it != drains_.end();) {
        if (it->shards.count(shard) == 0) {
            ++it;
            continue;
        }
        auto handler = std::move(it->handler);
        it = drains_.erase(it);
        handler.complete(why);
    }
}

void drain_list::answer(error_code why) {
    for (auto& each : std::exchange(drains_, {}))
        each.handler.complete(why);
    for (auto& each : std::exchange(early_, {}))
        each.complete(why);
}

}  // namespace mortise::outbox::detail
