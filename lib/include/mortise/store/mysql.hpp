// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_MYSQL_HPP
#define MORTISE_STORE_MYSQL_HPP

#include "mortise/db/mysql_config.hpp"
#include "mortise/store.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace mortise {

/// The settings of a store at a MariaDB or MySQL server: which server keeps the locks, and where in
/// it.
class mysql_store_config {
public:
    mysql_store_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The server, the login, and the database with the tables of the store, whose names begin with
    /// `mortise_`. Two stores at one server need different databases. The limits of pools do not
    /// matter here, except `connect_max`.
    db::mysql_config server;

    /// Make the tables if they are not there. Otherwise, or without the right to do so, an
    /// administrator makes them: `mortise init --print` shows how.
    bool create = true;

    /// The domain of the tokens, 1 to 25 characters without `#`; empty: made from a random number.
    /// Written into a new store; an existing store keeps its own, and another one is then refused.
    std::string domain;
};

/// Reads the settings of the store from a URL: that of `db::parse_mysql_url`, with the options
/// `create` and `domain`. Reads also the files and the variables of the environment that it names
/// for passwords.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
mysql_store_config parse_mysql_store_url(std::string_view url);

/// A store for all processes that reach one MariaDB server, of version 10.5 or newer, or one MySQL
/// server, of version 8.0 or newer.
///
/// Opens nothing yet but checks what can be checked without I/O; the first acquire connects.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_mysql_store(mysql_store_config config);

}  // namespace mortise

#endif
