// SPDX-License-Identifier: BSL-1.0
#include "version_command.hpp"

#include "exit_code.hpp"
#include "json.hpp"
#include "mortise/version.hpp"

#include <boost/version.hpp>

#ifdef MORTISE_WITH_REDIS
#include <openssl/crypto.h>
#endif
#include <sqlite3.h>

#include <iostream>
#include <optional>
#include <string>

namespace mortise::tool {
namespace {

std::string boost_version() {
    return std::to_string(BOOST_VERSION / 100'000) + '.' +
           std::to_string(BOOST_VERSION / 100 % 1'000) + '.' + std::to_string(BOOST_VERSION % 100);
}

/// The version of OpenSSL, which Boost.Redis uses for TLS. Nothing if this program has no Redis.
std::optional<std::string> openssl_version() {
#ifdef MORTISE_WITH_REDIS
    return ::OpenSSL_version(OPENSSL_VERSION_STRING);
#else
    return std::nullopt;
#endif
}

}  // namespace

int show_version(const global_settings& global) {
    const auto tls = openssl_version();
    if (global.json) {
        json::object fields{
            {"version", mortise::version()},
            {"boost", boost_version()},
            {"sqlite", ::sqlite3_libversion()}};
        if (tls) {
            fields["boost_redis"] = boost_version();
            fields["openssl"] = *tls;
        }
        std::cout << json::serialize(fields) << '\n';
    } else {
        std::cout << "mortise " << mortise::version() << " (Boost " << boost_version()
                  << ", SQLite " << ::sqlite3_libversion();
        if (tls)
            std::cout << ", Boost.Redis " << boost_version() << ", OpenSSL " << *tls;
        std::cout << ")\n";
    }
    return exit_code::success;
}

}  // namespace mortise::tool
