// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/redlock.hpp"
#include "store/redis/redis_stores.hpp"
#include "url/store_opener.hpp"
#include "url/store_url.hpp"

#include <string>

namespace mortise {
namespace {

constexpr std::uint16_t usual_port = 6379;

bool is_redlock_scheme(std::string_view scheme) noexcept {
    return scheme == "redlock" || scheme == "redlocks";
}

redlock_store_config config_of(const store_url& url) {
    url.allow_options(
        {"prefix",
         "domain",
         "allow_eviction",
         "assume_new",
         "longest_ttl_ms",
         "password_file",
         "password_env",
         "client_name",
         "connect_max_ms"},
        {"ca_file", "certificate_file", "key_file", "tls_name"}
    );
    const auto server = server_url::parse(url, usual_port);
    redlock_store_config config;
    config.tls = url.scheme == "redlocks";
    config.user = server.user;
    config.password = url.secret("password", server.password);
    for (const auto& each : server.places)
        config.servers.emplace_back(each.host, each.port);
    config.database = store_detail::database_in(server.path, url);
    config.prefix = url.option("prefix");
    config.domain = url.option("domain");
    config.allow_eviction = url.flag("allow_eviction");
    config.assume_new = url.flag("assume_new");
    config.longest_ttl = url.milliseconds("longest_ttl_ms", config.longest_ttl);
    if (const auto name = url.option("client_name"); !name.empty())
        config.client_name = name;
    config.tls_name = url.option("tls_name");
    config.ca_file = url.option("ca_file");
    config.certificate_file = url.option("certificate_file");
    config.key_file = url.option("key_file");
    config.connect_max = url.milliseconds("connect_max_ms", config.connect_max);
    return config;
}

bool opens(std::string_view scheme) noexcept {
    return is_redlock_scheme(scheme) || store_detail::is_redis_scheme(scheme);
}

std::unique_ptr<store> open(const store_url& url) {
    if (is_redlock_scheme(url.scheme))
        return make_redlock_store(config_of(url));
    return make_redis_store(store_detail::redis_config_of(url));
}

}  // namespace

redlock_store_config parse_redlock_url(std::string_view text) {
    const store_url url = store_url::parse(text);
    if (!is_redlock_scheme(url.scheme))
        throw error(errc::unknown_scheme, "\"" + url.scheme + "\"", "use redlock://HOST,HOST,HOST");
    return config_of(url);
}

}  // namespace mortise

// The one of the library, for both kinds of stores.
constinit const mortise::store_detail::store_opener mortise_redis_opener{
    &mortise::opens,
    "redis://HOST, rediss://HOST, redis+unix:///PATH, redis+sentinel://HOST,.../NAME, "
    "redis+cluster://HOST,..., redlock://HOST,HOST,HOST",
    &mortise::open};
