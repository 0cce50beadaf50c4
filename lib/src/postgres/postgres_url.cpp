// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres_config.hpp"
#include "mortise/error.hpp"
#include "postgres/pg_opening.hpp"
#include "url/store_url.hpp"

#include <string>

namespace mortise {
namespace {

constexpr std::uint16_t usual_port = 5432;

// Takes the two modes in which a connection is as safe as it looks. In the others anybody between
// the two ends can read along, or pose as the server.
bool wants_tls(const store_url& url) {
    const auto mode = url.option("sslmode");
    if (mode == "verify-full")
        return true;
    if (!mode.empty() && mode != "disable")
        url.refuse("use sslmode=verify-full (with sslrootcert=FILE), or sslmode=disable");
    if (mode.empty() && !url.option("sslrootcert").empty())
        return true;
    return false;
}

}  // namespace

namespace postgres_detail {

bool is_postgres_scheme(std::string_view scheme) noexcept {
    return scheme == "postgresql" || scheme == "postgres";
}

db::postgres_config
postgres_config_of(const store_url& url, std::initializer_list<std::string_view> more) {
    url.allow_options(
        {"sslmode",
         "sslrootcert",
         "sslcert",
         "sslkey",
         "passfile",
         "password_file",
         "password_env",
         "application_name",
         "connections_max",
         "statements_max",
         "connect_max_ms",
         "wait_max_ms"},
        more
    );
    const auto server = server_url::parse(url, usual_port);
    db::postgres_config config;
    config.servers.clear();
    for (const auto& each : server.places)
        config.servers.emplace_back(each.host, each.port);
    config.database = server.path;
    config.user = server.user;
    config.password = url.secret("password", server.password);
    config.passfile = url.option("passfile");
    config.tls = wants_tls(url);
    config.ca_file = url.option("sslrootcert");
    config.certificate_file = url.option("sslcert");
    config.key_file = url.option("sslkey");
    if (const auto name = url.option("application_name"); !name.empty())
        config.application_name = name;
    config.connections_max = url.number("connections_max", config.connections_max);
    config.statements_max = url.number("statements_max", config.statements_max);
    config.connect_max = url.milliseconds("connect_max_ms", config.connect_max);
    config.wait_max = url.milliseconds("wait_max_ms", config.wait_max);
    return config;
}

}  // namespace postgres_detail

db::postgres_config db::parse_postgres_url(std::string_view text) {
    const store_url url = store_url::parse(text);
    if (!postgres_detail::is_postgres_scheme(url.scheme))
        throw error(errc::unknown_scheme, "\"" + url.scheme + "\"", "use postgresql://HOST");
    return postgres_detail::postgres_config_of(url, {});
}

}  // namespace mortise
