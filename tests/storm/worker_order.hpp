// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_WORKER_ORDER_HPP
#define MORTISE_TESTS_STORM_WORKER_ORDER_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::storm {

/// The arguments of a process of the storm.
struct worker_order {
    worker_order() = default;

    std::string store;  ///< Its URL.
    std::uint32_t seat = 0;
    std::uint32_t number = 0;  ///< Unique, never reused.
    std::uint64_t seed = 0;
    std::chrono::milliseconds ttl{0};
    int board = -1;            ///< Inherited descriptors.
    std::vector<int> sockets;  ///< One for each of its coroutines.
    std::string bug;

    /// Converts the order to words of a command line, and back. Invalid words throw.
    std::vector<std::string> words() const;
    static worker_order parse(const std::vector<std::string>& words);
};

}  // namespace mortise::storm

#endif
