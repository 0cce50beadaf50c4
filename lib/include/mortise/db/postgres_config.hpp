// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_CONFIG_HPP
#define MORTISE_DB_POSTGRES_CONFIG_HPP

#include "mortise/db/server_limits.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::db {

/// Where a PostgreSQL server listens.
struct postgres_address {
    postgres_address() = default;
    postgres_address(std::string at, std::uint16_t number) : host(std::move(at)), port(number) {}

    /// A name, an address, or the folder of a Unix socket, which begins with a slash.
    std::string host = "localhost";
    std::uint16_t port = 5432;
};

/// The settings of a session with a PostgreSQL server, and its limits.
///
/// `statements_max` may be 0, for a pooler between client and server that gives each transaction
/// another connection.
class postgres_config : public server_limits {
public:
    postgres_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// At least one. Of several, the first that takes writes is used.
    std::vector<postgres_address> servers = {postgres_address()};
    std::string database;  ///< Empty: the one that is named as the user.
    std::string user;      ///< Empty: the name of the system's user.
    /// Empty: as libpq finds one, in the variable `PGPASSWORD` or in `passfile`. Never shown,
    /// whatever goes wrong.
    std::string password;
    /// A file of the form of `~/.pgpass`; empty: the one that `PGPASSFILE` names, or that one.
    std::filesystem::path passfile;

    bool tls = false;
    /// The authorities to trust (PEM); empty: those that the system trusts. The server's
    /// certificate must name the host.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the server asks for one,
    std::filesystem::path key_file;          ///< with its key.

    std::string application_name = "mortise";  ///< As the server shows it in `pg_stat_activity`.

    /// How long sent data may stay unacknowledged by the server's host, before the connection is
    /// given up (`tcp_user_timeout`). Idle connections are probed by keepalives in a third of it,
    /// at least each second.
    std::chrono::milliseconds unacknowledged_max{15'000};
};

/// Reads the settings from a URL:
/// `postgresql://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]...][/DATABASE][?OPTION=VALUE&...]`. The
/// folder of a Unix socket is a host, too, as in `postgresql://%2Frun%2Fpostgresql/shop`.
///
/// Options: `sslmode` (`disable` or `verify-full`), `sslrootcert`, `sslcert`, `sslkey`, `passfile`,
/// `password_file`, `password_env`, `application_name`, `connections_max`, `statements_max`,
/// `connect_max_ms`, `wait_max_ms`. Reads also the file and the variable of the environment that it
/// names for the password.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
postgres_config parse_postgres_url(std::string_view url);

}  // namespace mortise::db

#endif
