// SPDX-License-Identifier: BSL-1.0
// The URLs of the SQLite store.
#include "mortise/store/sqlite.hpp"
#include "url/store_opener.hpp"

#include <string>
#include <utility>

namespace mortise {
namespace {

bool is_sqlite_scheme(std::string_view scheme) noexcept {
    return scheme == "sqlite";
}

std::unique_ptr<store> open_sqlite(const store_url& url) {
    url.allow_options(
        {"domain", "checkpoint_bytes", "allow_network_file_system", "busy_poll_max_us"}
    );
    if (url.path.empty())
        throw error(errc::bad_url, "\"" + url.text + "\"", "name a file, as in sqlite:locks.db");
    sqlite_store_config config;
    config.path = url.path;
    config.domain = url.option("domain");
    config.checkpoint_bytes = url.number("checkpoint_bytes", config.checkpoint_bytes);
    config.allow_network_file_system = url.flag("allow_network_file_system");
    config.busy_poll_max = url.microseconds("busy_poll_max_us", config.busy_poll_max);
    return make_sqlite_store(std::move(config));
}

}  // namespace
}  // namespace mortise

constinit const mortise::store_detail::store_opener mortise_sqlite_opener{
    &mortise::is_sqlite_scheme, "sqlite:PATH", &mortise::open_sqlite};
