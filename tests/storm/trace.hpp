// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_TRACE_HPP
#define MORTISE_TESTS_STORM_TRACE_HPP

#include "storm/blow.hpp"
#include "storm/ground.hpp"
#include "storm/record.hpp"

#include <span>
#include <string>

namespace mortise::storm {

/// Writes all that a storm knows to a file, in the order of time: the wishes for locks, the blows
/// against processes, and what was done to the store. Times are nanoseconds of `CLOCK_BOOTTIME`.
/// @throws std::runtime_error if the file cannot be written
void write_trace(
    const std::string& file,
    std::span<const record> records,
    std::span<const blow> blows,
    std::span<const ground::event> events
);

}  // namespace mortise::storm

#endif
