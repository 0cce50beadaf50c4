// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_PERCENT_HPP
#define MORTISE_DETAIL_PERCENT_HPP

#include <optional>
#include <string>
#include <string_view>

namespace mortise::detail {

/// Bytes as text of a header or of a path: all but letters, digits and `-._~` as `%XX`.
std::string percent_encoded(std::string_view bytes);
/// @return nothing if a `%` is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace mortise::detail

#endif
