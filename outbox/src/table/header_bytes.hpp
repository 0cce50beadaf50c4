// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_HEADER_BYTES_HPP
#define MORTISE_OUTBOX_SRC_TABLE_HEADER_BYTES_HPP

#include "mortise/outbox/message.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {

/// Headers as they stand in a column: name and value of each, in front of both their lengths, four
/// bytes each, the lowest first.
std::string bytes_of(const std::vector<header>& headers);
/// @return nothing if the bytes are not what `bytes_of` makes.
std::optional<std::vector<header>> headers_in(std::string_view bytes);

}  // namespace mortise::outbox::table

#endif
