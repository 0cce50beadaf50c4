// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_POSTGRES_HPP
#define MORTISE_STORE_POSTGRES_HPP

#include "mortise/db/postgres_config.hpp"
#include "mortise/store.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace mortise {

/// The settings of a PostgreSQL store: which server keeps the locks, and where in it.
class postgres_store_config {
public:
    postgres_store_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// The server and the login. A database of its own (`mortise`, say) is advised: open
    /// transactions of other programs then hold no vacuum back, and no program but the clients of
    /// the store is woken by its notifications. The limits of pools do not matter here, except
    /// `connect_max`.
    db::postgres_config server;

    /// The schema with the tables of the store, 1 to 63 bytes. Two stores in one database need
    /// different ones.
    std::string schema = "mortise";

    /// Make the schema and its tables if they are not there. Otherwise, or without the right to
    /// do so, an administrator makes them: `mortise init --print` shows how.
    bool create = true;

    /// The domain of the tokens, 1 to 25 characters without `#`; empty: made from a random number.
    /// Written into a new store; an existing store keeps its own, and another one is then refused.
    std::string domain;
};

/// Reads the settings of a PostgreSQL store from a URL: that of `db::parse_postgres_url`, with the
/// options `schema`, `create` and `domain`. Reads also the files and the variables of the
/// environment that it names for passwords.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
postgres_store_config parse_postgres_store_url(std::string_view url);

/// A store for all processes that reach one PostgreSQL server, of version 14 or newer, not through
/// a pooler.
///
/// Opens nothing yet but checks what can be checked without I/O; the first acquire connects.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_postgres_store(postgres_store_config config);

}  // namespace mortise

#endif
