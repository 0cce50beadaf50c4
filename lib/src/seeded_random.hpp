// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SEEDED_RANDOM_HPP
#define MORTISE_SEEDED_RANDOM_HPP

#include <cstdint>

namespace mortise::detail {

/// While it lives, what this thread draws at random (ids of sessions and stores, names of sockets)
/// follows from a seed, so that a simulation repeats itself exactly. One at a time on a thread.
class seeded_random {
public:
    explicit seeded_random(std::uint64_t seed) noexcept;
    ~seeded_random();
    seeded_random(const seeded_random&) = delete;
    seeded_random& operator=(const seeded_random&) = delete;

    /// The one of this thread, or null.
    static seeded_random* current() noexcept;

    std::uint64_t next() noexcept;

private:
    std::uint64_t state_;
};

}  // namespace mortise::detail

#endif
