// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_PERCENT_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_PERCENT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::txn::http {

/// Bytes as text of a header or of a path: all but letters, digits and `-._~` as `%XX`.
std::string percent_encoded(std::string_view bytes);
/// @return nothing if a `%` is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// Whether it can stand in a header as it is: visible ASCII, with spaces inside only.
bool is_field_value(std::string_view text) noexcept;

/// Decimal digits and nothing else, at most `max`.
std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t max) noexcept;

}  // namespace mortise::txn::http

#endif
