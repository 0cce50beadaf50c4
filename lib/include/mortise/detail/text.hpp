// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_TEXT_HPP
#define MORTISE_DETAIL_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::detail {

// Bytes as text: hexadecimal digits, `%XX`, and what is UTF-8.

/// Two lower-case hexadecimal digits for each byte.
std::string hexadecimal(std::string_view bytes);
/// The 16 lower-case hexadecimal digits of a number.
std::string hexadecimal(std::uint64_t number);
/// The number that these hexadecimal digits spell; nothing if `digits` has another character, none,
/// or too many digits for the number.
std::optional<std::uint64_t> parse_hexadecimal(std::string_view digits) noexcept;
/// Whether there are only lower-case hexadecimal digits in `text`.
bool is_hexadecimal(std::string_view text) noexcept;

/// Bytes as text of a header or of a path: all but letters, digits and `-._~` as `%XX`.
std::string percent_encoded(std::string_view bytes);
/// @return nothing if a `%` is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// A character of a text.
struct utf8_character {
    std::uint32_t code = 0;
    std::size_t size = 0;  ///< In bytes; zero if the bytes are not UTF-8.
};

/// Decodes the first character of `bytes`, which must not be empty. Overlong forms, surrogates and
/// code points above U+10FFFF are not UTF-8.
utf8_character first_utf8(std::string_view bytes) noexcept;
bool valid_utf8(std::string_view bytes) noexcept;

}  // namespace mortise::detail

#endif
