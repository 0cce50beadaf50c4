// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_PRINTABLE_HPP
#define MORTISE_TOOLS_PRINTABLE_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::tool {

enum class newlines { escaped, as_spaces };

/// `bytes` as text that is safe on a terminal: valid UTF-8 stays, all else becomes `\xNN` per byte,
/// and so do control characters, those that turn the direction of writing, and the backslash itself
/// (as `\\`). With `newlines::as_spaces` backslashes stay: for sentences that are shown and never
/// read back.
std::string printable(std::string_view bytes, newlines lines = newlines::escaped);

/// A sentence on one line.
inline std::string sentence(std::string_view text) {
    return printable(text, newlines::as_spaces);
}

bool valid_utf8(std::string_view bytes) noexcept;

/// Two lower-case hexadecimal digits for each byte.
std::string hexadecimal(std::string_view bytes);

/// How many characters a valid UTF-8 text has.
std::size_t width_of(std::string_view text) noexcept;

}  // namespace mortise::tool

#endif
