// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_HOLDER_SET_HPP
#define MORTISE_CORE_HOLDER_SET_HPP

#include "core/lock_rows.hpp"
#include "mortise/lock_mode.hpp"

#include <cstdint>
#include <vector>

namespace mortise::core {

/// The holders of one lock, as far as they decide who may join them: which modes go together.
///
/// One exclusive or one shared holder is enough to describe its lock; of permits, every holder must
/// be added, because each has a slot.
class holder_set {
public:
    void add(const lock_entry& holder);

    /// Whether somebody may join the present holders in that mode.
    bool admits(lock_mode mode) const noexcept;

    /// Whether nobody may join, whatever the mode.
    bool closed() const noexcept;

    /// The token that a newcomer in that mode shares with the present holders: that of a shared
    /// phase, or zero if the newcomer needs a token of its own.
    std::uint64_t common_token(lock_mode mode) const noexcept;

    /// The lowest slot that is free, for permits; zero for the other modes.
    std::uint32_t free_slot(lock_mode mode) const noexcept;

private:
    bool held_ = false;
    lock_mode mode_;
    std::uint64_t token_ = 0;
    std::uint32_t count_ = 0;
    std::vector<bool> taken_;  // slots, from 1 on
};

}  // namespace mortise::core

#endif
