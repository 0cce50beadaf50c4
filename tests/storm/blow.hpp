// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_BLOW_HPP
#define MORTISE_TESTS_STORM_BLOW_HPP

#include <cstdint>

namespace mortise::storm {

/// What was done to a process, in nanoseconds of `CLOCK_BOOTTIME`.
struct blow {
    enum class kind : std::uint8_t { kill, stop };

    kind what = kind::kill;
    /// It was stopped while it had the lock on the store's files: then the store stands still.
    bool inside = false;
    std::uint32_t process = 0;
    std::int64_t from = 0;
    std::int64_t until = 0;  ///< Of a kill: when it was gone.
};

}  // namespace mortise::storm

#endif
