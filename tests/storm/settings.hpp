// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_SETTINGS_HPP
#define MORTISE_TESTS_STORM_SETTINGS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::storm {

/// The options of a storm.
struct settings {
    settings() = default;

    std::uint64_t seed = 1;
    std::size_t processes = 32;
    std::size_t tasks = 3;  ///< Coroutines in each process.
    std::chrono::milliseconds ttl{1'500};
    std::string store = "sqlite";  ///< Or "redis".
    std::string bug;               ///< The bug to plant; empty: none.
};

/// The board has seats for this many processes.
inline constexpr std::size_t processes_max = 128;

}  // namespace mortise::storm

#endif
