// SPDX-License-Identifier: BSL-1.0
#include "table/log_keeper.hpp"

#include "mortise/db/sqlite_error.hpp"
#include "mortise/outbox/error.hpp"
#include "table/schema.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mortise::outbox::table {
namespace {

constexpr sqlite3_int64 block_bytes = 1 << 16;  // SQLite writes less than 128 KiB at once

void check(int code, const char* action) {
    if (code != SQLITE_OK)
        throw error(error_code(code, db::sqlite_category()), action, "see to the disk");
}

/// Finds the write-ahead log. @return null if the database has none at present.
sqlite3_file* log_of(db::connection& on) {
    sqlite3_file* log = nullptr;
    check(
        ::sqlite3_file_control(on.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log),
        "finding the write-ahead log"
    );
    return log != nullptr && log->pMethods != nullptr ? log : nullptr;
}

void sync(sqlite3_file* log) {
    if (log == nullptr)
        return;
    const int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    check(code, "syncing the write-ahead log");
}

// Writes the same bytes again to make their pages dirty: the next sync writes them, or fails.
void write_over_itself(sqlite3_file* log) {
    if (log == nullptr)
        return;
    sqlite3_int64 size = 0;
    check(log->pMethods->xFileSize(log, &size), "writing the write-ahead log anew");
    std::vector<char> block(static_cast<std::size_t>(std::min(size, block_bytes)));
    for (sqlite3_int64 at = 0; at < size; at += block_bytes) {
        const int bytes = static_cast<int>(std::min(size - at, block_bytes));
        check(log->pMethods->xRead(log, block.data(), bytes, at), "reading the write-ahead log");
        check(
            log->pMethods->xWrite(log, block.data(), bytes, at), "writing the write-ahead log anew"
        );
    }
}

}  // namespace

void log_keeper::make_durable(db::connection& on) {
    const std::uint64_t before = failures_;
    if (is_suspect())
        throw error(errc::log_not_synced, path_of(on), "see to the disk");
    try {
        sync(log_of(on));
    } catch (...) {
        suspect();
        throw;
    }
    if (failures_ != before)
        throw error(errc::log_not_synced, path_of(on), "see to the disk");
}

void log_keeper::write_anew(db::connection& on) {
    const std::uint64_t before = failures_;
    try {
        sqlite3_file* const log = log_of(on);
        write_over_itself(log);
        sync(log);
    } catch (...) {
        suspect();
        throw;
    }
    settled_ = before;  // not `failures_`: another sync may have failed meanwhile
}

}  // namespace mortise::outbox::table
