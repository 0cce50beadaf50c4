// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_OPEN_DATABASE_HPP
#define MORTISE_DB_OPEN_DATABASE_HPP

#include "mortise/db/sqlite_config.hpp"

namespace mortise::sqlite_detail {
class sqlite_db;
}

namespace mortise::db::detail {

class busy_wait;

enum class database_use { write, read, checkpoint };

/// Opens the database for that use, with every setting that the session's promises depend on, and
/// reads each setting back.
/// @throws error
void open_database(
    sqlite_detail::sqlite_db& db, busy_wait& wait, const sqlite_config& config, database_use use
);

/// Makes the connection wait for the disk at each commit, or not. Must not run in a transaction.
/// @return a result code of SQLite: `SQLITE_ERROR` if the setting did not take.
int set_synchronous(sqlite_detail::sqlite_db& db, bool full) noexcept;

}  // namespace mortise::db::detail

#endif
