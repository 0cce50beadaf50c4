// SPDX-License-Identifier: BSL-1.0
#include "table/durable.hpp"

#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

#include <cstdint>

namespace mortise::outbox::table {

void make_durable(db::connection& on) {
    sqlite3_file* log = nullptr;
    int failed = ::sqlite3_file_control(on.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (failed == SQLITE_OK && log != nullptr && log->pMethods != nullptr)
        failed = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    if (failed != SQLITE_OK)
        throw error(
            error_code(failed, db::sqlite_category()),
            "syncing the write-ahead log",
            "see to the disk"
        );
}

}  // namespace mortise::outbox::table
