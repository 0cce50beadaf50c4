// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_AS_KILLED_HPP
#define MORTISE_AS_KILLED_HPP

namespace mortise::detail {

/// While one lives, what is destroyed on this thread belongs to a simulated process that is killed:
/// it frees its memory, and leaves everything that other processes see as it is.
class as_killed {
public:
    as_killed() noexcept;
    ~as_killed();
    as_killed(const as_killed&) = delete;
    as_killed& operator=(const as_killed&) = delete;

    static bool now() noexcept;
};

}  // namespace mortise::detail

#endif
