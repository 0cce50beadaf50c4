// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_TIME_TEXT_HPP
#define MORTISE_TOOLS_TIME_TEXT_HPP

#include <chrono>
#include <string>

namespace mortise::tool {

using wall_time = std::chrono::system_clock::time_point;
wall_time wall_now();
/// The time from `then` to `now`, at least zero: a clock may be set back.
std::chrono::microseconds since(wall_time then, wall_time now);

/// A time in UTC as ISO 8601 writes it: `2026-01-31T12:34:56.789Z`.
std::string time_text(wall_time at);

}  // namespace mortise::tool

#endif
