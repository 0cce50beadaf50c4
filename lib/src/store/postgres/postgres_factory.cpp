// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/postgres.hpp"
#include "postgres/pg_opening.hpp"
#include "store/postgres/postgres_schema.hpp"
#include "store/postgres/postgres_server.hpp"
#include "store/postgres/postgres_wire.hpp"
#include "store/store_domain.hpp"
#include "url/database_url.hpp"
#include "url/store_opener.hpp"

#include <chrono>
#include <utility>

namespace mortise {
namespace {

void check(const postgres_store_config& config) {
    constexpr std::size_t schema_max = 63;
    if (config.schema.empty() || config.schema.size() > schema_max ||
        config.schema.find('\0') != std::string::npos)
        throw error(
            errc::bad_config, "schema = \"" + config.schema + '"', "use a name of 1 to 63 bytes"
        );
    store_detail::check_wanted_domain(config.domain);
    if (config.server.servers.empty())
        throw error(errc::bad_config, "servers", "name at least one");
    if (config.server.connect_max <= std::chrono::milliseconds::zero() ||
        config.server.connect_max > std::chrono::hours(24))
        throw error(errc::bad_config, "connect_max", "use one millisecond to one day");
}

}  // namespace

std::unique_ptr<store> make_postgres_store(postgres_store_config config) {
    check(config);
    return store_detail::make_sql_store(
        std::make_unique<store_detail::postgres_server>(std::move(config))
    );
}

namespace store_detail {

postgres_server::postgres_server(postgres_store_config config)
    : config_(std::make_shared<const postgres_store_config>(std::move(config))) {}

store_traits postgres_server::traits() const noexcept {
    store_traits traits;
    traits.scheme = "postgresql";
    traits.remote = true;
    traits.strength = token_strength::strict;
    traits.push = traits.fair = traits.server_clock = true;
    traits.shared = traits.permits = traits.hold_max = traits.extend = true;
    traits.counts = false;
    traits.ttl_min = std::chrono::milliseconds(100);
    traits.ttl_max = std::chrono::hours(24);
    return traits;
}

std::shared_ptr<sql_wire> postgres_server::make_wire(
    sql_use,
    const asio::any_io_executor& strand,
    const std::shared_ptr<coro::time_source>& time,
    sql_wire_events events
) {
    return std::make_shared<postgres_wire>(config_, strand, time, std::move(events));
}

postgres_store_config postgres_store_config_of(const store_url& url) {
    postgres_store_config config;
    config.server = postgres_detail::postgres_config_of(url, {"schema", "create", "domain"});
    if (const auto schema = url.option("schema"); !schema.empty())
        config.schema = schema;
    if (!url.option("create").empty())
        config.create = url.flag("create");
    config.domain = url.option("domain");
    return config;
}

}  // namespace store_detail

postgres_store_config parse_postgres_store_url(std::string_view text) {
    return store_detail::postgres_store_config_of(
        parse_url_of(text, &postgres_detail::is_postgres_scheme, "postgresql")
    );
}

}  // namespace mortise

namespace {

std::unique_ptr<mortise::store> open_postgres(const mortise::store_url& url) {
    return mortise::make_postgres_store(mortise::store_detail::postgres_store_config_of(url));
}

std::string tables_of_postgres(const mortise::store_url& url) {
    const auto config = mortise::store_detail::postgres_store_config_of(url);
    mortise::check(config);
    std::string text = "BEGIN;\n";
    for (const auto& each :
         mortise::store_detail::postgres_tables(config.schema, config.domain, true))
        text += each + ";\n";
    return text + "COMMIT;\n";
}

}  // namespace

constinit const mortise::store_detail::store_opener mortise_postgres_opener{
    &mortise::postgres_detail::is_postgres_scheme,
    "postgresql://HOST/DATABASE",
    &open_postgres,
    &tables_of_postgres};
