// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_CHANGES_HPP
#define MORTISE_TOOLS_LOCK_CHANGES_HPP

#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::tool {

/// Something that differs between two looks at the locks.
struct lock_change {
    enum class kind : std::uint8_t { acquired, released, waits, left };

    kind what = kind::acquired;
    std::string name;
    party_view who;
};

const char* to_string(lock_change::kind what) noexcept;

/// What happened between two looks, as far as they tell: who came and went between them is not
/// seen. Both are in the order of the names. Of one lock first those that let it go, then those
/// that got it, then those that left the queue, then those that joined it.
///
/// Who waited before and holds now acquired; that it left the queue is not said.
std::vector<lock_change>
changes_between(const std::vector<lock_view>& before, const std::vector<lock_view>& after);

}  // namespace mortise::tool

#endif
