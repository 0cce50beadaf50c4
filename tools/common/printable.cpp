// SPDX-License-Identifier: BSL-1.0
#include "common/printable.hpp"

#include <array>
#include <cstdint>

namespace mortise::tool {
namespace {

struct character {
    std::uint32_t code = 0;
    std::size_t size = 0;  ///< In bytes; zero if the bytes are not UTF-8.
};

/// Decodes the first character of `bytes`, which must not be empty. Overlong forms, surrogates and
/// code points above U+10FFFF are not UTF-8.
character first_of(std::string_view bytes) noexcept {
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

/// Control characters move the cursor, and direction marks reverse a line: both can mislead a
/// reader.
bool harmless(std::uint32_t code) noexcept {
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool invisible = (code >= 0x200b && code <= 0x200f) ||
                           (code >= 0x2028 && code <= 0x202e) ||
                           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
    return !control && !invisible;
}

}  // namespace

std::string printable(std::string_view bytes, newlines lines) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const character c = first_of(bytes);
        const std::size_t size = c.size == 0 ? 1 : c.size;
        const std::string_view here = bytes.substr(0, size);
        if (lines == newlines::as_spaces && (c.code == '\n' || c.code == '\t') && c.size == 1) {
            text += ' ';
        } else if (c.size != 0 && harmless(c.code)) {
            if (c.code == '\\' && lines == newlines::escaped)
                text += '\\';
            text += here;
        } else {
            for (const char byte : here)
                text += "\\x" + hexadecimal(std::string_view(&byte, 1));
        }
        bytes.remove_prefix(size);
    }
    return text;
}

bool valid_utf8(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const character c = first_of(bytes);
        if (c.size == 0)
            return false;
        bytes.remove_prefix(c.size);
    }
    return true;
}

std::string hexadecimal(std::string_view bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += digits[value >> 4];
        text += digits[value & 0xf];
    }
    return text;
}

std::size_t width_of(std::string_view text) noexcept {
    std::size_t width = 0;
    for (const char byte : text)
        width += (static_cast<unsigned char>(byte) & 0xc0u) != 0x80;
    return width;
}

}  // namespace mortise::tool
