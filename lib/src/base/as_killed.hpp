// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_BASE_AS_KILLED_HPP
#define MORTISE_BASE_AS_KILLED_HPP

namespace mortise::detail {

/// While one exists, objects that are destroyed on this thread belong to a simulated process that
/// is killed: they free their memory, but change nothing that other processes see.
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
