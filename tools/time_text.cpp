// SPDX-License-Identifier: BSL-1.0
#include "time_text.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace mortise::tool {

wall_time wall_now() {
    return std::chrono::system_clock::now();
}

std::chrono::microseconds since(wall_time then, wall_time now) {
    using std::chrono::microseconds;
    return std::max(microseconds(0), std::chrono::duration_cast<microseconds>(now - then));
}

std::string time_text(wall_time at) {
    using std::chrono::milliseconds;
    // Do not use the clock's own unit: the start of a second may lie before the clock's first
    // moment.
    const auto when = std::chrono::floor<milliseconds>(at);
    const auto second = std::chrono::floor<std::chrono::seconds>(when);
    const auto count = static_cast<std::time_t>(second.time_since_epoch().count());
    std::tm parts{};
    if (::gmtime_r(&count, &parts) == nullptr)
        return "?";  // a year that this machine's calendar does not have
    std::array<char, 64> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    const auto part = (when - second).count();
    const std::string digits = std::to_string(1'000 + part).substr(1);
    return std::string(text.data(), size) + '.' + digits + 'Z';
}

}  // namespace mortise::tool
