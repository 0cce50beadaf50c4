// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_STORE_DOMAIN_HPP
#define MORTISE_STORE_STORE_DOMAIN_HPP

#include "mortise/token_domain.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// The domain of a whole store, of which those of its slots can be made; nothing if it is none.
std::optional<token_domain> parse_store_domain(std::string_view name) noexcept;

/// That a wish for a domain can be granted; there is none if it is empty.
/// @throws error `bad_config`
void check_wanted_domain(const std::string& name);

}  // namespace mortise::store_detail

#endif
