// SPDX-License-Identifier: BSL-1.0
#include "core/queue_view.hpp"

#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

#include <cstddef>

namespace mortise::core {

void holder_set::add(lock_mode mode, std::uint64_t token, std::uint32_t slot) {
    held_ = true;
    mode_ = mode;
    token_ = token;
    ++count_;
    if (mode_.type() != lock_mode::kind::permits)
        return;
    if (taken_.size() <= slot)
        taken_.resize(std::size_t{slot} + 1);
    taken_[slot] = true;
}

bool holder_set::admits(lock_mode mode) const noexcept {
    if (!held_)
        return true;
    if (MORTISE_PLANTED(readers_and_writers) && mode_ == lock_mode::shared())
        return true;
    switch (mode.type()) {
    case lock_mode::kind::shared:
        return mode_ == mode;
    case lock_mode::kind::permits:
        return mode_ == mode && count_ < mode.capacity();
    case lock_mode::kind::exclusive:
        break;
    }
    return false;
}

bool holder_set::closed() const noexcept {
    return held_ && !admits(mode_);
}

std::uint64_t holder_set::common_token(lock_mode mode) const noexcept {
    return held_ && mode.type() == lock_mode::kind::shared ? token_ : 0;
}

std::uint32_t holder_set::free_slot(lock_mode mode) const noexcept {
    if (mode.type() != lock_mode::kind::permits)
        return 0;
    std::uint32_t slot = 1;
    while (slot < taken_.size() && taken_[slot])
        ++slot;
    MORTISE_ASSERT(slot <= mode.capacity());
    return slot;
}

standing queue_view::judge(const queue_entry& next) {
    if (next.session == presence::gone || (next.granted && next.ended))
        return standing::lapsed;
    if (next.granted) {
        holders_.add(next.mode, next.token, next.slot);
        settled_ = next.mode.type() != lock_mode::kind::permits;
        return standing::holds;
    }
    if (closed())
        return standing::waits;
    if (next.session == presence::unreachable) {
        passed_over_ = true;
        return standing::passed_over;
    }
    if (holders_.admits(next.mode))
        return standing::due;
    stopped_ = true;
    return standing::waits;
}

std::vector<standing> standings(std::span<const queue_entry> queue, bool quarantined) {
    queue_view view(quarantined);
    std::vector<standing> found;
    found.reserve(queue.size());
    for (const queue_entry& each : queue) {
        const standing entitled = view.judge(each);
        if (entitled == standing::due)
            view.admit(each.mode, 0, view.holders().free_slot(each.mode));
        found.push_back(entitled);
    }
    return found;
}

}  // namespace mortise::core
