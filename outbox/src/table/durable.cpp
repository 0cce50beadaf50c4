// SPDX-License-Identifier: BSL-1.0
#include "table/durable.hpp"

#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

#include <array>
#include <cstring>

namespace mortise::outbox::table {
namespace {

// https://www.sqlite.org/fileformat2.html#walformat: drawn anew whenever the log begins anew.
constexpr ::sqlite3_int64 salt_at = 16;

std::uint64_t salt_of(::sqlite3_file& log) {
    std::array<char, sizeof(std::uint64_t)> bytes{};
    const int failed = log.pMethods->xRead(&log, bytes.data(), int{bytes.size()}, salt_at);
    std::uint64_t made = 0;
    if (failed == SQLITE_OK)
        std::memcpy(&made, bytes.data(), bytes.size());
    return made;  // zero: it is empty
}

[[noreturn]] void fail(int code, const char* what, const char* remedy) {
    throw error(error_code(code, db::sqlite_category()), what, remedy);
}

}  // namespace

void durability_check::make_durable(db::connection& on) {
    ::sqlite3_file* log = nullptr;
    const int failed =
        ::sqlite3_file_control(on.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
    if (failed != SQLITE_OK)
        fail(failed, "finding the write-ahead log", "see to the disk");
    if (log != nullptr && log->pMethods != nullptr)
        sync(*log);
}

void durability_check::sync(::sqlite3_file& log) {
    const std::lock_guard guard(mutex_);
    const auto salt = salt_of(log);
    if (doubtful_ && *doubtful_ == salt) {
        fail(
            SQLITE_IOERR_FSYNC,
            "a sync of the write-ahead log has failed, and no other can be believed",
            "see to the disk, and run PRAGMA wal_checkpoint(TRUNCATE), or end all who use the "
            "database: when the log begins anew the relay goes on"
        );
    }
    doubtful_.reset();
    const int failed = log.pMethods->xSync(&log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    if (failed == SQLITE_OK)
        return;
    doubtful_ = salt;
    fail(failed, "syncing the write-ahead log", "see to the disk");
}

}  // namespace mortise::outbox::table
