// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_URL_STORE_OPENER_HPP
#define MORTISE_URL_STORE_OPENER_HPP

#include "mortise/store.hpp"
#include "url/store_url.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// How `open_store` opens the stores of one library, `mortise::sqlite` or `mortise::redis`.
struct store_opener {
    bool (*opens)(std::string_view scheme) noexcept;
    const char* form;  ///< The form of its URLs, for messages.
    std::unique_ptr<store> (*open)(const store_url& url);
    /// As `tables_of_store`; null if an administrator has nothing to make.
    std::string (*tables)(const store_url& url) = nullptr;
};

}  // namespace mortise::store_detail

// Weak, so that the address is null in a program that is not linked with the defining library.
// `extern "C"`, because cmake/add_store.cmake passes the unmangled names to the linker.
extern "C" {
[[gnu::weak]] extern const mortise::store_detail::store_opener mortise_mysql_opener;
[[gnu::weak]] extern const mortise::store_detail::store_opener mortise_postgres_opener;
[[gnu::weak]] extern const mortise::store_detail::store_opener mortise_redis_opener;
[[gnu::weak]] extern const mortise::store_detail::store_opener mortise_sqlite_opener;
[[gnu::weak]] extern const mortise::store_detail::store_opener mortise_zookeeper_opener;
}

#endif
