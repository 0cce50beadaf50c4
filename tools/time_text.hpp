// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_TIME_TEXT_HPP
#define MORTISE_TOOLS_TIME_TEXT_HPP

#include <chrono>
#include <string>

namespace mortise::tool {

using wall_time = std::chrono::system_clock::time_point;
wall_time wall_now();
/// How long that is ago; clocks may be set back: not less than nothing.
std::chrono::microseconds since(wall_time then, wall_time now);

/// A moment as ISO 8601 writes it, in UTC: `2026-01-31T12:34:56.789Z`.
std::string time_text(wall_time at);

}  // namespace mortise::tool

#endif
