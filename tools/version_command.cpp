// SPDX-License-Identifier: BSL-1.0
#include "version_command.hpp"

#include "exit_code.hpp"
#include "json.hpp"
#include "mortise/version.hpp"

#include <boost/version.hpp>

#include <sqlite3.h>

#include <iostream>
#include <string>

namespace mortise::tool {
namespace {

std::string boost_version() {
    return std::to_string(BOOST_VERSION / 100'000) + '.' +
           std::to_string(BOOST_VERSION / 100 % 1'000) + '.' + std::to_string(BOOST_VERSION % 100);
}

}  // namespace

int show_version(const global_settings& global) {
    if (global.json) {
        const json::object fields{
            {"version", mortise::version()},
            {"boost", boost_version()},
            {"sqlite", ::sqlite3_libversion()}};
        std::cout << json::serialize(fields) << '\n';
    } else {
        std::cout << "mortise " << mortise::version() << " (Boost " << boost_version()
                  << ", SQLite " << ::sqlite3_libversion() << ")\n";
    }
    return exit_code::success;
}

}  // namespace mortise::tool
