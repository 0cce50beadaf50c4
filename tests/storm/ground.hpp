// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_GROUND_HPP
#define MORTISE_TESTS_STORM_GROUND_HPP

#include "mortise/coro/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {

/// The store of one storm, created for it alone.
class ground {
public:
    virtual ~ground() = default;
    ground() = default;
    ground(const ground&) = delete;
    ground& operator=(const ground&) = delete;

    /// The URL by which the process on `seat` reaches the store.
    virtual std::string url(std::size_t seat) const = 0;

    /// Does the harm to the store that is due. Called every few milliseconds.
    virtual void shake(clock::time_point) {}
    /// Makes the store available to everybody again.
    virtual void settle() {}
    /// The faults that were caused at the store, and how often.
    virtual std::vector<std::pair<std::string, std::size_t>> blows() const { return {}; }

    /// What was done to the store, and when, by `CLOCK_BOOTTIME`.
    struct event {
        std::string name;
        std::int64_t from = 0;
        std::int64_t until = 0;
    };
    virtual std::vector<event> events() const { return {}; }

    /// Describes what sessions left behind once nobody uses the store, and the faults that the
    /// store finds in itself. Empty if there is nothing.
    virtual std::string residue() = 0;
};

}  // namespace mortise::storm

#endif
