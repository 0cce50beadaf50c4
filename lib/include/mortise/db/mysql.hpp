// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_HPP
#define MORTISE_DB_MYSQL_HPP

#include "mortise/db/mysql_config.hpp"
#include "mortise/db/mysql_connection.hpp"
#include "mortise/db/mysql_error.hpp"
#include "mortise/db/mysql_stats.hpp"
#include "mortise/db/server_database.hpp"

namespace mortise::db {

/// A session with a MariaDB or MySQL server. docs/mysql.md states its promises, and faults.
class mysql : public server_database<mysql_connection> {
public:
    /// Opens nothing yet.
    /// @throws error `bad_config` for settings outside of their limits.
    mysql(executor_type executor, mysql_config config);
};

}  // namespace mortise::db

#endif
