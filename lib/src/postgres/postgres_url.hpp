// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_POSTGRES_POSTGRES_URL_HPP
#define MORTISE_POSTGRES_POSTGRES_URL_HPP

#include "mortise/db/postgres_config.hpp"
#include "url/store_url.hpp"

#include <initializer_list>
#include <string_view>

namespace mortise::db::detail {

bool is_postgres_scheme(std::string_view scheme) noexcept;

/// Reads the settings of a session from a URL of that scheme.
/// @param more options that are read elsewhere.
/// @throws error `bad_url`, `bad_config`
postgres_config
postgres_config_of(const store_url& url, std::initializer_list<std::string_view> more);

}  // namespace mortise::db::detail

#endif
