// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/percent.hpp"

#include <cstddef>

namespace mortise::detail {
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

}  // namespace mortise::detail
