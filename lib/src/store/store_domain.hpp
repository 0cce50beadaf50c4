// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_STORE_DOMAIN_HPP
#define MORTISE_STORE_STORE_DOMAIN_HPP

#include "mortise/token_domain.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// Parses the domain of a whole store; nothing if `name` is not a domain, has a `#`, or leaves no
/// room for a `#` and the number of a slot.
std::optional<token_domain> parse_store_domain(std::string_view name) noexcept;

/// Checks that `name` can be the domain of a store; empty means no preference.
/// @throws error `bad_config`
void check_wanted_domain(const std::string& name);

}  // namespace mortise::store_detail

#endif
