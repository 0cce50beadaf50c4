// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_HEADER_BYTES_HPP
#define MORTISE_OUTBOX_SRC_TABLE_HEADER_BYTES_HPP

#include "mortise/outbox/message.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::outbox::table {

/// Encodes headers for a column: the name and value of each, each with its length in front of it:
/// four bytes, the lowest first.
std::string bytes_of(const std::vector<header>& headers);
/// Decodes headers. @return nothing if the bytes are not from `bytes_of`.
std::optional<std::vector<header>> headers_in(std::string_view bytes);

}  // namespace mortise::outbox::table

#endif
