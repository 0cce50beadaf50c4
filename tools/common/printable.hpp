// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_PRINTABLE_HPP
#define MORTISE_TOOLS_COMMON_PRINTABLE_HPP

#include "mortise/detail/text.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::tool {

enum class newlines { escaped, as_spaces };

/// Makes `bytes` safe to show on a terminal. Valid UTF-8 stays; every other byte becomes `\xNN`. So
/// do control characters and the characters that change the direction of writing. A backslash
/// becomes `\\`. With `newlines::as_spaces` backslashes stay: for sentences that nobody parses
/// again.
std::string printable(std::string_view bytes, newlines lines = newlines::escaped);

/// Makes a sentence safe to show, on one line.
inline std::string sentence(std::string_view text) {
    return printable(text, newlines::as_spaces);
}

using detail::hexadecimal;
using detail::valid_utf8;

/// The number of characters of a valid UTF-8 text.
std::size_t width_of(std::string_view text) noexcept;

}  // namespace mortise::tool

#endif
