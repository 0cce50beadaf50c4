// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mysql/mysql_place.hpp"

#include <string>

namespace mortise::db {
namespace {

constexpr std::uint16_t usual_port = 3306;

// Takes the two modes in which a connection is as safe as it looks. In the others anybody between
// the two ends can read along, or pose as the server.
bool wants_tls(const store_url& url) {
    const auto mode = url.option("sslmode");
    if (mode == "verify-full")
        return true;
    if (!mode.empty() && mode != "disable")
        url.refuse("use sslmode=verify-full (with sslrootcert=FILE), or sslmode=disable");
    return mode.empty() && !url.option("sslrootcert").empty();
}

}  // namespace

bool detail::is_mysql_scheme(std::string_view scheme) noexcept {
    return scheme == "mysql" || scheme == "mariadb";
}

mysql_config
detail::mysql_config_of(const store_url& url, std::initializer_list<std::string_view> more) {
    url.allow_options(
        {"socket",
         "sslmode",
         "sslrootcert",
         "sslcert",
         "sslkey",
         "password_file",
         "password_env",
         "connections_max",
         "statements_max",
         "connect_max_ms",
         "wait_max_ms",
         "outcome_table"},
        more
    );
    const auto server = server_url::parse(url, usual_port);
    if (server.places.size() != 1)
        url.refuse("name one server");
    mysql_config config;
    config.host = server.places.front().host;
    config.port = server.places.front().port;
    config.socket = url.option("socket");
    config.database = server.path;
    config.user = server.user;
    config.password = url.secret("password", server.password);
    config.tls = wants_tls(url);
    config.ca_file = url.option("sslrootcert");
    config.certificate_file = url.option("sslcert");
    config.key_file = url.option("sslkey");
    config.connections_max = url.number("connections_max", config.connections_max);
    config.statements_max = url.number("statements_max", config.statements_max);
    config.connect_max = url.milliseconds("connect_max_ms", config.connect_max);
    config.wait_max = url.milliseconds("wait_max_ms", config.wait_max);
    config.outcome_table = url.option("outcome_table");
    return config;
}

mysql_config parse_mysql_url(std::string_view text) {
    const store_url url = store_url::parse(text);
    if (!detail::is_mysql_scheme(url.scheme))
        throw error(errc::unknown_scheme, "\"" + url.scheme + "\"", "use mysql://HOST");
    return detail::mysql_config_of(url, {});
}

}  // namespace mortise::db
