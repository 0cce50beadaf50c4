// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_WIRE_FIELD_VALUES_HPP
#define MORTISE_TXN_HTTP_SRC_WIRE_FIELD_VALUES_HPP

#include "mortise/detail/text.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise::txn::http {

using mortise::detail::percent_decoded;
using mortise::detail::percent_encoded;

/// Compares names of fields, or words of a scheme, without regard to case.
bool same_name(std::string_view left, std::string_view right) noexcept;

/// Whether a text can be the name of a field: letters, digits and some others, no blank.
bool is_field_name(std::string_view text) noexcept;

/// Whether a text can be a value in a header: visible ASCII, with spaces inside only.
bool is_field_value(std::string_view text) noexcept;

/// Reads decimal digits and nothing else, at most `max`.
std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t max) noexcept;

}  // namespace mortise::txn::http

#endif
