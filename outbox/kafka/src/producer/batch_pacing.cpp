// SPDX-License-Identifier: BSL-1.0
#include "producer/batch_pacing.hpp"

#include "producer/batch_records.hpp"

#include <algorithm>

namespace mortise::kafka::detail {

bool batch_pacing::pause_is_due(const record& record, std::size_t index) {
    if (pauses_.contains(index) || alone_.contains(record.topic))
        return true;
    const auto limit = together_max_.find(record.topic);
    return limit != together_max_.end() && together_[record.topic] > 0 &&
           together_[record.topic] + size_of(record) > limit->second;
}

void batch_pacing::on_sent(const record& record) {
    if (!together_max_.empty())
        together_[record.topic] += size_of(record);
}

void batch_pacing::narrow(
    const transaction_batch& batch, const std::vector<delivery_book::group>& suspects, bool last_try
) {
    // Below this size, a single record is probably too large, not the sum of them.
    constexpr std::size_t smallest_limit = 16u << 10;
    for (const delivery_book::group& group : suspects) {
        std::size_t size = 0;
        for (const std::size_t index : group.indexes)
            size += index < batch.records.size() ? size_of(batch.records[index]) : 0;
        if (group.too_large) {
            const auto [known, fresh] = too_much_.emplace(group.topic, size);
            known->second = std::min(known->second, size);
            if (size > smallest_limit)
                together_max_[group.topic] = std::max(size / 2, smallest_limit);
        }
        pauses_.insert(group.indexes.front());
        pauses_.insert(group.indexes[group.indexes.size() / 2]);
        pauses_.insert(group.indexes.back() + 1);
        if (last_try)
            alone_.insert(group.topic);
    }
}

void batch_pacing::end_search(bool committed) {
    if (committed) {
        for (const auto& [topic, size] : too_much_)
            together_max_[topic] = size / 2;
    }
    too_much_.clear();
    pauses_.clear();
    alone_.clear();
}

}  // namespace mortise::kafka::detail
