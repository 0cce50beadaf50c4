// SPDX-License-Identifier: BSL-1.0
#include "mortise/detail/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace mortise::detail {
namespace {

constexpr std::string_view lower_digits = "0123456789abcdef";
constexpr std::string_view upper_digits = "0123456789ABCDEF";

void put_byte(std::string& text, char byte, std::string_view digits) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4u];
    text += digits[value & 15u];
}

bool is_plain(char each) noexcept {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '-' || each == '.' || each == '_' || each == '~';
}

}  // namespace

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char byte : bytes)
        put_byte(text, byte, lower_digits);
    return text;
}

std::string hexadecimal(std::uint64_t number) {
    std::string text(16, '0');
    for (std::size_t i = text.size(); i-- > 0; number >>= 4u)
        text[i] = lower_digits[number & 15u];
    return text;
}

std::optional<std::uint64_t> parse_hexadecimal(std::string_view digits) noexcept {
    std::uint64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, wrong] = std::from_chars(digits.data(), last, value, 16);
    if (wrong != std::errc() || end != last)
        return std::nullopt;
    return value;
}

bool is_hexadecimal(std::string_view text) noexcept {
    return text.find_first_not_of(lower_digits) == std::string_view::npos;
}

std::string percent_encoded(std::string_view bytes) {
    std::string text;
    for (const char each : bytes) {
        if (is_plain(each)) {
            text += each;
            continue;
        }
        text += '%';
        put_byte(text, each, upper_digits);
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
        const auto digits = text.substr(i + 1, 2);
        const auto value = parse_hexadecimal(digits);
        if (digits.size() != 2 || !value)
            return std::nullopt;
        bytes += static_cast<char>(*value);
        i += 2;
    }
    return bytes;
}

utf8_character first_utf8(std::string_view bytes) noexcept {
    const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned lead = byte_at(0);
    if (lead < 0x80)
        return {lead, 1};
    struct form {
        unsigned mask, mark;
        std::size_t size;
        std::uint32_t least;
    };
    static constexpr std::array<form, 3> forms{
        form{0xe0, 0xc0, 2, 0x80}, form{0xf0, 0xe0, 3, 0x800}, form{0xf8, 0xf0, 4, 0x10000}};
    for (const form& f : forms) {
        if ((lead & f.mask) != f.mark)
            continue;
        if (bytes.size() < f.size)
            return {};
        std::uint32_t code = lead & ~f.mask & 0xffu;
        for (std::size_t i = 1; i < f.size; ++i) {
            if ((byte_at(i) & 0xc0u) != 0x80)
                return {};
            code = (code << 6) | (byte_at(i) & 0x3fu);
        }
        const bool surrogate = code >= 0xd800 && code < 0xe000;
        if (code < f.least || code > 0x10ffff || surrogate)
            return {};
        return {code, f.size};
    }
    return {};
}

bool valid_utf8(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const utf8_character first = first_utf8(bytes);
        if (first.size == 0)
            return false;
        bytes.remove_prefix(first.size);
    }
    return true;
}

}  // namespace mortise::detail
