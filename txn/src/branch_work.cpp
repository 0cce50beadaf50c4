// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/branch_work.hpp"

namespace mortise::txn {

void branch_work::choose(std::uint32_t attempt) {
    const std::lock_guard hold(mutex_);
    chosen_ = attempt;
}

bool branch_work::choose_only() {
    const std::lock_guard hold(mutex_);
    if (!chosen_)
        chosen_ = only_attempt();
    return chosen_.has_value();
}

std::optional<std::uint32_t> branch_work::chosen() const {
    const std::lock_guard hold(mutex_);
    return chosen_;
}

}  // namespace mortise::txn
