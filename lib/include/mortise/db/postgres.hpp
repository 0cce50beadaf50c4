// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_HPP
#define MORTISE_DB_POSTGRES_HPP

#include "mortise/db/postgres_config.hpp"
#include "mortise/db/postgres_connection.hpp"
#include "mortise/db/postgres_error.hpp"
#include "mortise/db/postgres_stats.hpp"
#include "mortise/db/server_database.hpp"

namespace mortise::db {

/// A session with a PostgreSQL server. docs/postgres.md states its promises, and faults.
class postgres : public server_database<postgres_connection> {
public:
    /// Opens nothing yet.
    /// @throws error `bad_config` for settings outside of their limits.
    postgres(executor_type executor, postgres_config config);
};

}  // namespace mortise::db

#endif
