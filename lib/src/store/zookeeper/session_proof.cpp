// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/session_proof.hpp"

#include "core/planted_bug.hpp"

#include <cstddef>

namespace mortise::store_detail {

void session_proof::connected(clock::time_point since) {
    touches_.clear();
    carried_ = carried_before_ = since;
}

// Many packets in a row are worth no more than a few of them.
void session_proof::touched(clock::time_point sent, clock::time_point answered) {
    constexpr std::size_t touches_max = 16;
    constexpr int parts = 8;
    if (!touches_.empty() && answered - touches_.back().answered < spacing_ / parts)
        return;
    if (touches_.size() == touches_max)
        touches_.erase(touches_.begin() + 1);
    touches_.push_back({sent, answered});
}

void session_proof::beat_sent(clock::time_point at) {
    sent_ = at;
    const auto may_carry = [&](const touch& each) { return at - each.answered > spacing_; };
    while (touches_.size() > 1 && may_carry(touches_[1]))
        touches_.pop_front();
    carried_ = !touches_.empty() && may_carry(touches_[0]) ? touches_[0].sent : carried_before_;
}

clock::time_point session_proof::beat_acknowledged(clock::time_point at) {
    const auto base = MORTISE_PLANTED(beat_proves_itself) ? sent_ : carried_before_;
    carried_before_ = carried_;
    touched(sent_, at);
    return base;
}

}  // namespace mortise::store_detail
