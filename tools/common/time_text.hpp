// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_TIME_TEXT_HPP
#define MORTISE_TOOLS_COMMON_TIME_TEXT_HPP

#include <chrono>
#include <string>
#include <string_view>

namespace mortise::tool {

using wall_time = std::chrono::system_clock::time_point;
wall_time wall_now();
/// The time from `then` to `now`, at least zero: a clock may be set back.
std::chrono::microseconds since(wall_time then, wall_time now);

/// A time in UTC as ISO 8601 writes it: `2026-01-31T12:34:56.789Z`.
std::string time_text(wall_time at);

/// Parses `500ms`, `10s`, `2m`, `1h`, or `0`.
/// @throws failure that names `option`, for any other text.
std::chrono::milliseconds parse_duration(std::string_view option, std::string_view text);

/// Writes a duration for people: `250 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
std::string duration_text(std::chrono::milliseconds duration);

template <class Rep, class Period>
std::string duration_text(std::chrono::duration<Rep, Period> duration) {
    return duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

}  // namespace mortise::tool

#endif
