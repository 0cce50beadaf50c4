// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_TIME_TEXT_HPP
#define MORTISE_TOOLS_TIME_TEXT_HPP

#include <chrono>
#include <string>

namespace mortise::tool {

/// A moment as ISO 8601 writes it, in UTC: `2026-01-31T12:34:56.789Z`.
std::string time_text(std::chrono::system_clock::time_point at);

}  // namespace mortise::tool

#endif
