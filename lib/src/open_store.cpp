// SPDX-License-Identifier: BSL-1.0
#include "mortise/open_store.hpp"

#include "mortise/store/memory.hpp"
#include "store_url.hpp"

#ifdef MORTISE_WITH_REDIS
#include "mortise/store/redis.hpp"
#include "store/redis/redis_url.hpp"
#endif
#ifdef MORTISE_WITH_SQLITE
#include "mortise/store/sqlite.hpp"
#endif

#include <string>

namespace mortise {
namespace {

std::unique_ptr<store> open_memory(const store_url& url) {
    url.allow_options({});
    return make_memory_store(url.path);
}

#ifdef MORTISE_WITH_SQLITE
std::unique_ptr<store> open_sqlite(const store_url& url) {
    url.allow_options({"domain", "checkpoint_bytes", "allow_network_file_system"});
    if (url.path.empty())
        throw error(errc::bad_url, "\"" + url.text + "\"", "name a file, as in sqlite:locks.db");
    sqlite_store_config config;
    config.path = url.path;
    config.domain = url.option("domain");
    config.checkpoint_bytes = url.number("checkpoint_bytes", config.checkpoint_bytes);
    config.allow_network_file_system = url.flag("allow_network_file_system");
    return make_sqlite_store(std::move(config));
}
#endif

}  // namespace

std::unique_ptr<store> open_store(std::string_view text) {
    const store_url url = store_url::parse(text);
    std::string known = "memory:";
    if (url.scheme == "memory")
        return open_memory(url);
#ifdef MORTISE_WITH_SQLITE
    known += ", sqlite:PATH";
    if (url.scheme == "sqlite")
        return open_sqlite(url);
#endif
#ifdef MORTISE_WITH_REDIS
    known += ", redis://HOST, rediss://HOST, redis+sentinel://HOST,.../NAME";
    if (store_detail::is_redis_scheme(url.scheme))
        return make_redis_store(store_detail::redis_config_of(url));
#endif
    throw error(errc::unknown_scheme, "\"" + url.scheme + "\"", "use " + known);
}

}  // namespace mortise
