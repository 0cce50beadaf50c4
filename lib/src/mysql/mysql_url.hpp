// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_MYSQL_MYSQL_URL_HPP
#define MORTISE_MYSQL_MYSQL_URL_HPP

#include "mortise/db/mysql_config.hpp"
#include "url/store_url.hpp"

#include <initializer_list>
#include <string_view>

namespace mortise::db::detail {

bool is_mysql_scheme(std::string_view scheme) noexcept;

/// Reads the settings of a session from a URL of that scheme.
/// @param more options that are read elsewhere.
/// @throws error `bad_url`, `bad_config`
mysql_config mysql_config_of(const store_url& url, std::initializer_list<std::string_view> more);

}  // namespace mortise::db::detail

#endif
