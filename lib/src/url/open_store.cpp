// SPDX-License-Identifier: BSL-1.0
#include "mortise/open_store.hpp"

#include "mortise/store/memory.hpp"
#include "url/store_opener.hpp"
#include "url/store_url.hpp"

#include <string>

namespace mortise {
namespace {

using store_detail::store_opener;

/// The remedy for a scheme that no store in this program opens.
std::string remedy_for(std::string_view scheme, const std::string& known) {
    if (scheme == "sqlite")
        return "link mortise::sqlite, or use " + known;
    if (scheme == "redis" || scheme == "rediss" || scheme.starts_with("redis+") ||
        scheme == "redlock" || scheme == "redlocks")
        return "link mortise::redis, or use " + known;
    if (scheme == "postgresql" || scheme == "postgres")
        return "link mortise::postgres, or use " + known;
    if (scheme == "mysql" || scheme == "mariadb")
        return "link mortise::mysql, or use " + known;
    if (scheme == "zookeeper")
        return "link mortise::zookeeper, or use " + known;
    return "use " + known;
}

/// The opener for a scheme. @throws error `unknown_scheme`
const store_opener& opener_of(std::string_view scheme) {
    std::string known = "memory:";
    for (const store_opener* const opener :
         {&mortise_sqlite_opener,
          &mortise_redis_opener,
          &mortise_postgres_opener,
          &mortise_mysql_opener,
          &mortise_zookeeper_opener}) {
        if (opener == nullptr)
            continue;
        if (opener->opens(scheme))
            return *opener;
        known.append(", ").append(opener->form);
    }
    throw error(errc::unknown_scheme, '"' + std::string(scheme) + '"', remedy_for(scheme, known));
}

}  // namespace

std::unique_ptr<store> open_store(std::string_view text) {
    const store_url url = store_url::parse(text);
    if (url.scheme != "memory")
        return opener_of(url.scheme).open(url);
    url.allow_options({});
    return make_memory_store(url.path);
}

std::string tables_of_store(std::string_view text) {
    const store_url url = store_url::parse(text);
    const auto* const opener = url.scheme == "memory" ? nullptr : &opener_of(url.scheme);
    if (opener && opener->tables)
        return opener->tables(url);
    throw error(
        errc::unsupported,
        "tables of a store \"" + url.scheme + ":\"",
        "name a database server; other stores need no administrator"
    );
}

}  // namespace mortise
