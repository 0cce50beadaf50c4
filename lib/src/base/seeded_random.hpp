// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_BASE_SEEDED_RANDOM_HPP
#define MORTISE_BASE_SEEDED_RANDOM_HPP

#include <cstdint>

namespace mortise::detail {

/// While one exists, all random draws of this thread (ids of sessions and stores, names of sockets)
/// follow from its seed, so that a simulation repeats itself exactly. One at a time on a thread.
class seeded_random {
public:
    explicit seeded_random(std::uint64_t seed) noexcept;
    ~seeded_random();
    seeded_random(const seeded_random&) = delete;
    seeded_random& operator=(const seeded_random&) = delete;

    /// The seeded source of this thread, or null.
    static seeded_random* current() noexcept;

    std::uint64_t next() noexcept;

private:
    std::uint64_t state_;
};

}  // namespace mortise::detail

#endif
