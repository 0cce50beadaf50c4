// SPDX-License-Identifier: BSL-1.0
#include "core/lock_rows.hpp"

#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

namespace mortise::core {

void holder_set::add(const lock_entry& holder) {
    held_ = true;
    mode_ = holder.mode;
    token_ = holder.token;
    ++count_;
    if (mode_.type() != lock_mode::kind::permits)
        return;
    if (taken_.size() <= holder.slot)
        taken_.resize(std::size_t{holder.slot} + 1);
    taken_[holder.slot] = true;
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

}  // namespace mortise::core
