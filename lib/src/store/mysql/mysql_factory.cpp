// SPDX-License-Identifier: BSL-1.0
#include "mortise/store/mysql.hpp"
#include "mysql/mysql_place.hpp"
#include "store/mysql/mysql_server.hpp"
#include "store/store_domain.hpp"
#include "url/database_url.hpp"
#include "url/store_opener.hpp"

#include <chrono>
#include <utility>

namespace mortise {
namespace {

void check(const mysql_store_config& config) {
    store_detail::check_wanted_domain(config.domain);
    if (config.server.database.empty())
        throw error(errc::bad_config, "database", "name it, as in mysql://USER@HOST/mortise");
    if (config.server.connect_max <= std::chrono::milliseconds::zero() ||
        config.server.connect_max > std::chrono::hours(24))
        throw error(errc::bad_config, "connect_max", "use one millisecond to one day");
}

mysql_store_config config_of(const store_url& url) {
    mysql_store_config config;
    config.server = db::detail::mysql_config_of(url, {"create", "domain"});
    if (!url.option("create").empty())
        config.create = url.flag("create");
    config.domain = url.option("domain");
    return config;
}

}  // namespace

mysql_store_config parse_mysql_store_url(std::string_view text) {
    return config_of(parse_url_of(text, &db::detail::is_mysql_scheme, "mysql"));
}

std::unique_ptr<store> make_mysql_store(mysql_store_config config) {
    check(config);
    return store_detail::make_sql_store(
        std::make_unique<store_detail::mysql_server>(std::move(config))
    );
}

}  // namespace mortise

namespace {

std::unique_ptr<mortise::store> open_mysql(const mortise::store_url& url) {
    return mortise::make_mysql_store(mortise::config_of(url));
}

std::string tables_of_mysql(const mortise::store_url& url) {
    const auto config = mortise::config_of(url);
    mortise::check(config);
    std::string text;
    for (const auto& each : mortise::store_detail::mysql_tables())
        text += each + ";\n";
    return text + mortise::store_detail::mysql_first_rows(config.domain) + ";\n";
}

}  // namespace

constinit const mortise::store_detail::store_opener mortise_mysql_opener{
    &mortise::db::detail::is_mysql_scheme, "mysql://HOST/DATABASE", &open_mysql, &tables_of_mysql};
