// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_CHANGES_HPP
#define MORTISE_TOOLS_LOCK_CHANGES_HPP

#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::tool {

/// A difference between two looks at the locks.
struct lock_change {
    enum class kind : std::uint8_t { acquired, released, waits, left };

    kind what = kind::acquired;
    std::string name;
    party_view who;
};

const char* to_string(lock_change::kind what) noexcept;

/// What changed between two looks. Parties that came and went in between are not seen. Both looks
/// must be sorted by name. The changes of one lock are sorted: releases, acquisitions, waiters that
/// left, new waiters.
///
/// A waiter that now holds the lock counts as an acquisition only, not as one that left the queue.
std::vector<lock_change>
changes_between(const std::vector<lock_view>& before, const std::vector<lock_view>& after);

}  // namespace mortise::tool

#endif
