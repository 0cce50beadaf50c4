// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_GROUND_HPP
#define MORTISE_TESTS_STORM_GROUND_HPP

#include "mortise/coro/clock.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {

/// The store that a storm rages over, made for it alone.
class ground {
public:
    virtual ~ground() = default;
    ground() = default;
    ground(const ground&) = delete;
    ground& operator=(const ground&) = delete;

    /// By which the process on that seat reaches it.
    virtual std::string url(std::size_t seat) const = 0;

    /// Does to the store itself what is due by now; called every few milliseconds.
    virtual void shake(clock::time_point) {}
    /// Afterwards the store is there for everybody.
    virtual void settle() {}
    /// What was done to it, and how often.
    virtual std::vector<std::pair<std::string, std::size_t>> blows() const { return {}; }

    /// What is left of sessions when nobody uses it any more, and what it finds wrong with itself.
    /// Empty: nothing.
    virtual std::string residue() = 0;
};

}  // namespace mortise::storm

#endif
