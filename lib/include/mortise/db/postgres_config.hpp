// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_CONFIG_HPP
#define MORTISE_DB_POSTGRES_CONFIG_HPP

#include "mortise/coro/time_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
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
class postgres_config {
public:
    postgres_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// At least one. Of several, the first that takes writes is used.
    std::vector<postgres_address> servers = {postgres_address()};
    std::string database;  ///< Empty: the one that is named as the user.
    std::string user;      ///< Empty: the name of the system's user.
    /// Empty: as libpq finds one, in `passfile`, in the variable `PGPASSWORD`, in `~/.pgpass`.
    /// Never shown, whatever goes wrong.
    std::string password;
    std::filesystem::path passfile;  ///< A file of the form of `~/.pgpass`; empty: that one.

    bool tls = false;
    /// The authorities to trust (PEM); empty: those that the system trusts. The server's
    /// certificate must name the host.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the server asks for one,
    std::filesystem::path key_file;          ///< with its key.

    std::string application_name = "mortise";  ///< As the server shows it in `pg_stat_activity`.

    std::size_t connections_max = 8;  ///< 1 to 1,000.
    /// Transactions that may wait for a connection.
    std::size_t queue_max = 4'096;
    /// How long a transaction waits for a connection, if all are in use.
    std::chrono::milliseconds wait_max{30'000};
    /// How long to wait for a new connection, with the look-up of the server's name.
    std::chrono::milliseconds connect_max{5'000};
    /// How long a cancelled statement may take to end, before its connection is given up.
    std::chrono::milliseconds cancel_max{2'000};
    /// A connection that has lived for longer is replaced, when no transaction uses it.
    std::chrono::milliseconds lifetime_max{1'800'000};
    /// A connection that was idle for longer is asked for a sign of life before it is used.
    std::chrono::milliseconds check_after{1'000};
    /// How long sent data may stay unacknowledged by the server's host, before the connection is
    /// given up (`tcp_user_timeout`). Idle connections are probed by keepalives in a third of it,
    /// at least each second.
    std::chrono::milliseconds unacknowledged_max{15'000};

    /// Prepared statements that each connection keeps; 0: none, for a pooler between client and
    /// server that gives each transaction another connection.
    std::size_t statements_max = 128;

    /// The seed of the pauses between attempts; zero: a random one.
    std::uint64_t jitter_seed = 0;

    /// The time source of all limits; null: the real time.
    std::shared_ptr<coro::time_source> time;
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
