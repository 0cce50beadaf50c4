// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_URL_DATABASE_URL_HPP
#define MORTISE_URL_DATABASE_URL_HPP

#include "mortise/error.hpp"
#include "url/store_url.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace mortise {

// What URLs of all kinds of database servers, and of stores there, have in common.

/// Parses the URL, whose scheme must be of that kind. @throws error `unknown_scheme`, `bad_url`
inline store_url
parse_url_of(std::string_view text, bool (*is_kind)(std::string_view), const char* scheme) {
    store_url url = store_url::parse(text);
    if (!is_kind(url.scheme)) {
        const std::string usual = scheme;
        throw error(errc::unknown_scheme, '"' + url.scheme + '"', "use " + usual + "://HOST");
    }
    return url;
}

/// Whether a connection is to be secured. There are the two modes in which it is as safe as it
/// looks: in the others anybody between the two ends can read along, or pose as the server.
inline bool wants_tls(const store_url& url) {
    const auto mode = url.option("sslmode");
    if (mode == "verify-full")
        return true;
    if (!mode.empty() && mode != "disable")
        url.refuse("use sslmode=verify-full (with sslrootcert=FILE), or sslmode=disable");
    return mode.empty() && !url.option("sslrootcert").empty();
}

/// Reads the settings that sessions with all kinds of servers have. @return where the server is
/// @param own options of this kind of server.
/// @param more options that are read elsewhere.
/// @throws error `bad_url`, `bad_config`
template <class Config>
server_url read_database_url(
    const store_url& url,
    std::uint16_t usual_port,
    std::initializer_list<std::string_view> own,
    std::initializer_list<std::string_view> more,
    Config& config
) {
    url.allow_options(
        {"sslmode",
         "sslrootcert",
         "sslcert",
         "sslkey",
         "password_file",
         "password_env",
         "connections_max",
         "statements_max",
         "connect_max_ms",
         "wait_max_ms"},
        own,
        more
    );
    auto server = server_url::parse(url, usual_port);
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
    return server;
}

}  // namespace mortise

#endif
