// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_CONFIG_HPP
#define MORTISE_DB_MYSQL_CONFIG_HPP

#include "mortise/coro/time_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace mortise::db {

/// The settings of a session with a MariaDB or MySQL server, and its limits.
class mysql_config {
public:
    mysql_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    std::string host = "localhost";  ///< A name or an address.
    std::uint16_t port = 3306;
    std::filesystem::path socket;  ///< A Unix socket; then `host` and `port` are not used.
    std::string database;          ///< Empty: none is chosen.
    std::string user;
    std::string password;  ///< Never shown, whatever goes wrong.

    bool tls = false;
    /// The authorities to trust (PEM); empty: those that the system trusts. The server's
    /// certificate must name the host.
    std::filesystem::path ca_file;
    std::filesystem::path certificate_file;  ///< Our own (PEM), if the server asks for one,
    std::filesystem::path key_file;          ///< with its key.

    std::size_t connections_max = 8;  ///< 1 to 1,000. A cancelled statement needs one more.
    /// How long a transaction waits for a connection, if all are in use.
    std::chrono::milliseconds wait_max{30'000};
    /// How long to wait for a new connection, with the look-up of the server's name; and for a sign
    /// of life of one that was idle.
    std::chrono::milliseconds connect_max{5'000};
    /// How long a cancelled statement may take to end, before its connection is given up.
    std::chrono::milliseconds cancel_max{2'000};
    /// How long the server may take to begin or to end a transaction, before the connection is
    /// given up.
    std::chrono::milliseconds answer_max{30'000};
    /// A connection that has lived for longer is replaced, when no transaction uses it.
    std::chrono::milliseconds lifetime_max{1'800'000};
    /// A connection that was idle for longer is asked for a sign of life before it is used.
    std::chrono::milliseconds check_after{1'000};

    /// Prepared statements that each connection keeps; at least 1.
    std::size_t statements_max = 128;

    /// The table in which traced transactions leave a row (`transaction_options::traced`), so that
    /// a commit whose answer is lost can be looked up. It is made on first use, in `database`.
    /// Empty: no transaction is traced.
    std::string outcome_table;

    /// The seed of the pauses between attempts; zero: a random one.
    std::uint64_t jitter_seed = 0;

    /// The time source of pauses and of the limit for a cancelled statement; null: the real time.
    std::shared_ptr<coro::time_source> time;
};

/// Reads the settings from a URL:
/// `mysql://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?OPTION=VALUE&...]`; `mariadb:` means the
/// same.
///
/// Options: `socket` (the host is not used then), `sslmode` (`disable` or `verify-full`),
/// `sslrootcert`, `sslcert`, `sslkey`, `password_file`, `password_env`, `connections_max`,
/// `statements_max`, `connect_max_ms`, `wait_max_ms`, `outcome_table`. Reads also the file and the
/// variable of the environment that it names for the password.
/// @throws error `unknown_scheme`, `bad_url`, `bad_config`
mysql_config parse_mysql_url(std::string_view url);

}  // namespace mortise::db

#endif
