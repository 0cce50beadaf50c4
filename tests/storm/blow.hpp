// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_BLOW_HPP
#define MORTISE_TESTS_STORM_BLOW_HPP

#include <cstdint>

namespace mortise::storm {

/// A kill or stop of a process. Times are nanoseconds of `CLOCK_BOOTTIME`.
struct blow {
    enum class kind : std::uint8_t { kill, stop };

    kind type = kind::kill;
    /// The process was stopped while it held the lock on the store's files: the store then stands
    /// still.
    bool inside = false;
    std::uint32_t process = 0;
    std::int64_t from = 0;
    std::int64_t until = 0;  ///< For a kill: when the process was gone.
};

}  // namespace mortise::storm

#endif
