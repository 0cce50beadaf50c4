// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_FIELD_VALUES_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_FIELD_VALUES_HPP

#include "mortise/detail/percent.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise::txn::http {

using mortise::detail::percent_decoded;
using mortise::detail::percent_encoded;

/// The same name of a field, or the same word of a scheme: case does not matter.
bool same_name(std::string_view left, std::string_view right) noexcept;

/// Whether a field can have this name: letters, digits and some others, no blank.
bool is_field_name(std::string_view text) noexcept;

/// Whether it can stand in a header as it is: visible ASCII, with spaces inside only.
bool is_field_value(std::string_view text) noexcept;

/// Decimal digits and nothing else, at most `max`.
std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t max) noexcept;

}  // namespace mortise::txn::http

#endif
