// SPDX-License-Identifier: BSL-1.0
#include "time_text.hpp"

#include <array>
#include <ctime>

namespace mortise::tool {

std::string time_text(std::chrono::system_clock::time_point at) {
    using std::chrono::milliseconds;
    const auto second = std::chrono::floor<std::chrono::seconds>(at);
    const std::time_t count = std::chrono::system_clock::to_time_t(second);
    std::tm parts{};
    if (::gmtime_r(&count, &parts) == nullptr)
        return "?";  // a year that no calendar of this machine has
    std::array<char, 64> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    const auto part = std::chrono::floor<milliseconds>(at - second).count();
    const std::string digits = std::to_string(1'000 + part).substr(1);
    return std::string(text.data(), size) + '.' + digits + 'Z';
}

}  // namespace mortise::tool
