// SPDX-License-Identifier: BSL-1.0
#include "storm/fault_dice.hpp"

#include <algorithm>
#include <numeric>

namespace mortise::storm {

fault_dice::fault_dice(std::uint64_t seed, std::span<const char* const> names) : random_(seed) {
    for (const char* const each : names)
        counts_.emplace_back(each, 0);
}

std::size_t fault_dice::next() {
    if (left_.empty()) {
        left_.resize(counts_.size());
        std::iota(left_.begin(), left_.end(), std::size_t(0));
        std::shuffle(left_.begin(), left_.end(), random_);
    }
    const std::size_t drawn = left_.back();
    left_.pop_back();
    ++counts_.at(drawn).second;
    return drawn;
}

std::size_t fault_dice::index_below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
}

std::chrono::milliseconds fault_dice::between(std::int64_t least, std::int64_t most) {
    return std::chrono::milliseconds(
        std::uniform_int_distribution<std::int64_t>(least, most)(random_)
    );
}

}  // namespace mortise::storm
