// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_URL_HPP
#define MORTISE_STORE_REDIS_REDIS_URL_HPP

#include "mortise/store/redis.hpp"
#include "url/store_url.hpp"

namespace mortise::store_detail {

/// Whether a URL of that scheme names a Redis server, or sentinels that know one.
bool is_redis_scheme(std::string_view scheme) noexcept;

/// The configuration that a URL stands for: see `open_store`. Reads the files and environment
/// variables that the URL names for passwords.
/// @throws error
redis_store_config redis_config_of(const store_url& url);

}  // namespace mortise::store_detail

#endif
