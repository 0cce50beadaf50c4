// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_FAULT_DICE_HPP
#define MORTISE_TESTS_STORM_FAULT_DICE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mortise::storm {

/// Chooses the faults that a store has in a storm, and counts them.
class fault_dice {
public:
    /// @param names one for each kind of fault; they outlive this.
    fault_dice(std::uint64_t seed, std::span<const char* const> names);

    /// The number of the next fault, in a random order: each comes once before one comes again, so
    /// that a storm has some of each kind.
    std::size_t next();
    std::size_t index_below(std::size_t end);
    std::chrono::milliseconds between(std::int64_t least, std::int64_t most);
    /// How often each fault was drawn.
    std::vector<std::pair<std::string, std::size_t>> counts() const { return counts_; }

private:
    std::mt19937_64 random_;
    std::vector<std::size_t> left_;
    std::vector<std::pair<std::string, std::size_t>> counts_;
};

}  // namespace mortise::storm

#endif
