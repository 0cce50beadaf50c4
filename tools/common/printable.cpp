// SPDX-License-Identifier: BSL-1.0
#include "common/printable.hpp"

#include <array>
#include <cstdint>

namespace mortise::tool {
namespace {

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
        const auto c = detail::first_utf8(bytes);
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

std::size_t width_of(std::string_view text) noexcept {
    std::size_t width = 0;
    for (const char byte : text)
        width += (static_cast<unsigned char>(byte) & 0xc0u) != 0x80;
    return width;
}

}  // namespace mortise::tool
