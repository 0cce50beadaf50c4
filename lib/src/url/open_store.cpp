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
    if (scheme == "redis" || scheme == "rediss" || scheme == "redis+sentinel")
        return "link mortise::redis, or use " + known;
    if (scheme == "postgresql" || scheme == "postgres")
        return "link mortise::postgres, or use " + known;
    return "use " + known;
}

}  // namespace

std::unique_ptr<store> open_store(std::string_view text) {
    const store_url url = store_url::parse(text);
    std::string known = "memory:";
    if (url.scheme == "memory") {
        url.allow_options({});
        return make_memory_store(url.path);
    }
    for (const store_opener* const opener :
         {&mortise_sqlite_opener, &mortise_redis_opener, &mortise_postgres_opener}) {
        if (opener == nullptr)
            continue;
        if (opener->opens(url.scheme))
            return opener->open(url);
        known.append(", ").append(opener->form);
    }
    throw error(errc::unknown_scheme, "\"" + url.scheme + "\"", remedy_for(url.scheme, known));
}

}  // namespace mortise
