// SPDX-License-Identifier: BSL-1.0
#include "wire/percent.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace mortise::txn::http {
namespace {

bool is_plain(char each) noexcept {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '-' || each == '.' || each == '_' || each == '~';
}

std::optional<unsigned> digit(char each) noexcept {
    if (each >= '0' && each <= '9')
        return static_cast<unsigned>(each - '0');
    if (each >= 'A' && each <= 'F')
        return static_cast<unsigned>(each - 'A' + 10);
    if (each >= 'a' && each <= 'f')
        return static_cast<unsigned>(each - 'a' + 10);
    return std::nullopt;
}

}  // namespace

std::string percent_encoded(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const char each : bytes) {
        if (is_plain(each)) {
            text += each;
            continue;
        }
        const auto value = static_cast<unsigned char>(each);
        text += '%';
        text += digits[value >> 4u];
        text += digits[value & 15u];
    }
    return text;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            bytes += text[i];
            continue;
        }
        if (i + 2 >= text.size())
            return std::nullopt;
        const auto high = digit(text[i + 1]);
        const auto low = digit(text[i + 2]);
        if (!high || !low)
            return std::nullopt;
        bytes += static_cast<char>(*high * 16 + *low);
        i += 2;
    }
    return bytes;
}

bool is_field_value(std::string_view text) noexcept {
    if (text.empty() || text.front() == ' ' || text.back() == ' ')
        return false;
    return std::all_of(text.begin(), text.end(), [](char each) {
        return each >= ' ' && each <= '~';
    });
}

std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t max) noexcept {
    std::uint64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failed != std::errc() || end != text.data() + text.size() || value > max)
        return std::nullopt;
    return value;
}

}  // namespace mortise::txn::http
