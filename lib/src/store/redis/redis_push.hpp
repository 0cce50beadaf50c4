// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_PUSH_HPP
#define MORTISE_STORE_REDIS_REDIS_PUSH_HPP

#include "mortise/store_types.hpp"

#include <optional>
#include <string_view>

namespace mortise::store_detail {

/// Parses a message in the inbox of a session: the letter of its kind and, for a grant, its id,
/// base, slot, and whether others wait. Nothing if no store sends such a message.
///
/// @param domain that of the store; the domain of the grant's token is made from it.
std::optional<store_event> parse_push(std::string_view message, const token_domain& domain);

}  // namespace mortise::store_detail

#endif
