// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_HOLDER_SET_HPP
#define MORTISE_CORE_HOLDER_SET_HPP

#include "core/lock_rows.hpp"
#include "mortise/lock_mode.hpp"

#include <cstdint>
#include <vector>

namespace mortise::core {

/// Who holds one lock, as far as it matters for who else may: which modes go together.
///
/// One exclusive holder or one shared one says all that there is to say of its lock; of permits
/// every holder has to be added.
class holder_set {
public:
    void add(const lock_entry& holder);

    /// Whether somebody may join the present holders in that mode.
    bool admits(lock_mode mode) const noexcept;

    /// Whether nobody may join, whatever the mode.
    bool closed() const noexcept;

    /// What a newcomer in that mode shares with the present holders: the token of a shared phase,
    /// or zero if the newcomer needs a token of its own.
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
