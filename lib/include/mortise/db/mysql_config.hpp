// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_CONFIG_HPP
#define MORTISE_DB_MYSQL_CONFIG_HPP

#include "mortise/db/server_limits.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mortise::db {

/// The settings of a session with a MariaDB or MySQL server, and its limits.
///
/// `statements_max` is at least 1. A cancelled statement needs one connection more than
/// `connections_max`.
class mysql_config : public server_limits {
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

    /// The table in which traced transactions leave a row (`transaction_options::traced`), so that
    /// a commit whose answer is lost can be looked up. It is made on first use, in `database`.
    /// Empty: no transaction is traced.
    std::string outcome_table;
    /// Rows of that table that are older are removed, now and then, by those who write there. The
    /// outcome of a transaction can be looked up for half as long. Zero: no row is removed. All
    /// sessions that share the table must have the same value.
    std::chrono::hours outcome_age_max{24 * 7};
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
