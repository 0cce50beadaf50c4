// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_HEX_ID_HPP
#define MORTISE_STORE_HEX_ID_HPP

#include "mortise/store_types.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// Parses an id of 32 hexadecimal digits; nothing if `text` is not one.
std::optional<random_id> parse_hex_id(std::string_view text) noexcept;

/// The id that stands for one run of a server: the first 128 of the 160 bits of its run id; the
/// empty id if the server does not tell its run id.
random_id incarnation_of(std::string_view run_id) noexcept;

/// The name of a session at the server: 48 bits of its id in 8 characters, none of which is a colon
/// or a space (the scripts split texts there). The server compares the whole id when a session is
/// resumed.
std::string short_name(const session_id& id);

}  // namespace mortise::store_detail

#endif
