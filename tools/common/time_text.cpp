// SPDX-License-Identifier: BSL-1.0
#include "common/time_text.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <utility>

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

namespace {

using std::chrono::milliseconds;

constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> units{
    std::pair{"ms", 1}, std::pair{"s", 1'000}, std::pair{"m", 60'000}, std::pair{"h", 3'600'000}};

[[noreturn]] void refuse(std::string_view option, std::string_view text, const char* remedy) {
    throw failure(
        exit_code::usage,
        "this duration of " + std::string(option) + " is not usable",
        "'" + std::string(text) + "'",
        remedy
    );
}

}  // namespace

milliseconds parse_duration(std::string_view option, std::string_view text) {
    constexpr const char* form = "write it as 500ms, 10s, 2m or 1h";
    std::int64_t count = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failed == std::errc::result_out_of_range)
        refuse(option, text, "use at most 100 years");
    if (failed != std::errc())
        refuse(option, text, form);
    if (count < 0)
        refuse(option, text, "use zero or more");
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit.empty() && count == 0)
        return milliseconds(0);
    for (const auto& [name, factor] : units) {
        if (unit != name)
            continue;
        if (count > duration_max.count() / factor)
            refuse(option, text, "use at most 100 years");
        return milliseconds(count * factor);
    }
    refuse(option, text, form);
}

std::string duration_text(milliseconds duration) {
    const std::int64_t ms = duration.count();
    if (ms < 1'000)
        return std::to_string(ms) + " ms";
    const std::int64_t seconds = ms / 1'000;
    const auto pair = [](std::int64_t major, const char* name, std::int64_t minor, const char* rest
                      ) {
        std::string text = std::to_string(major) + name;
        if (minor != 0)
            text += ' ' + std::to_string(minor) + rest;
        return text;
    };
    if (seconds < 60)
        return std::to_string(seconds) + " s";
    if (seconds < 3'600)
        return pair(seconds / 60, " min", seconds % 60, " s");
    if (seconds < 86'400)
        return pair(seconds / 3'600, " h", seconds / 60 % 60, " min");
    return pair(seconds / 86'400, " d", seconds / 3'600 % 24, " h");
}

}  // namespace mortise::tool
