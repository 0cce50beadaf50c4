// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres_config.hpp"
#include "postgres/pg_opening.hpp"
#include "url/database_url.hpp"

namespace mortise {

bool postgres_detail::is_postgres_scheme(std::string_view scheme) noexcept {
    return scheme == "postgresql" || scheme == "postgres";
}

db::postgres_config postgres_detail::postgres_config_of(
    const store_url& url, std::initializer_list<std::string_view> more
) {
    constexpr std::uint16_t usual_port = 5432;
    db::postgres_config config;
    const auto server =
        read_database_url(url, usual_port, {"passfile", "application_name"}, more, config);
    config.servers.clear();
    for (const auto& each : server.places)
        config.servers.emplace_back(each.host, each.port);
    config.passfile = url.option("passfile");
    if (const auto name = url.option("application_name"); !name.empty())
        config.application_name = name;
    return config;
}

db::postgres_config db::parse_postgres_url(std::string_view text) {
    return postgres_detail::postgres_config_of(
        parse_url_of(text, &postgres_detail::is_postgres_scheme, "postgresql"), {}
    );
}

}  // namespace mortise
