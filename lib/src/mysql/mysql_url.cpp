// SPDX-License-Identifier: BSL-1.0
#include "mysql/mysql_place.hpp"
#include "url/database_url.hpp"

namespace mortise::db {

bool detail::is_mysql_scheme(std::string_view scheme) noexcept {
    return scheme == "mysql" || scheme == "mariadb";
}

mysql_config
detail::mysql_config_of(const store_url& url, std::initializer_list<std::string_view> more) {
    constexpr std::uint16_t usual_port = 3306;
    mysql_config config;
    const auto server =
        read_database_url(url, usual_port, {"socket", "outcome_table"}, more, config);
    if (server.places.size() != 1)
        url.refuse("name one server");
    config.host = server.places.front().host;
    config.port = server.places.front().port;
    config.socket = url.option("socket");
    config.outcome_table = url.option("outcome_table");
    return config;
}

mysql_config parse_mysql_url(std::string_view text) {
    return detail::mysql_config_of(parse_url_of(text, &detail::is_mysql_scheme, "mysql"), {});
}

}  // namespace mortise::db
