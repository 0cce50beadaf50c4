// SPDX-License-Identifier: BSL-1.0
#include "sqlite/failure.hpp"

#include "sqlite/sqlite_db.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

namespace mortise::sqlite_detail {
namespace {

bool out_of_files(int system_error) noexcept {
    return system_error == EMFILE || system_error == ENFILE;
}

}  // namespace

errc meaning_of(int sqlite_code, int system_error) noexcept {
    if (system_error == ENOSPC || system_error == EDQUOT)
        return errc::store_full;
    if (out_of_files(system_error))
        return errc::too_many_files;
    switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
        return errc::store_full;
    case SQLITE_NOTADB:
        return errc::not_a_database;
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return errc::store_corrupt;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
        return errc::not_writable;
    default:
        return errc::store_unavailable;
    }
}

bool poisons(int sqlite_code) noexcept {
    switch (sqlite_code & 0xff) {
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_FULL:  // Rolled back by SQLite or by us; nothing was left half done.
        return false;
    default:
        return true;
    }
}

std::string remedy_of(errc code) {
    switch (code) {
    case errc::store_full:
        return "free space on the disk of the store";
    case errc::not_a_database:
        return "name another file, or move this one away: mortise makes its own";
    case errc::not_a_store:
        return "give mortise a file of its own, not the database of an application";
    case errc::store_corrupt:
        return "stop all users of the store, then remove the file and its side folder";
    case errc::not_writable:
        return "use a folder that exists and that this user may write";
    case errc::too_many_files:
        return "raise the limit (ulimit -n), or see what in this process opens so many files";
    case errc::several_names:
        return "remove the hard links, and mount the folder instead of the file";
    default:
        return "see whether another program has the database open for long, then try again";
    }
}

error failure_of(const sqlite_db& db, const std::string& path) {
    const errc code = meaning_of(db.code(), db.system_error());
    return error(code, path + " (" + db.text() + ")", remedy_of(code));
}

error failure_of_call(int system_error, const std::string& doing, const std::string& value) {
    errc code = errc::store_unavailable;
    std::string remedy = "see whether the process is out of memory, then try again";
    switch (system_error) {
    case ENOSPC:
    case EDQUOT:
        code = errc::store_full;
        remedy = remedy_of(code);
        break;
    case EMFILE:
    case ENFILE:
        code = errc::too_many_files;
        remedy = remedy_of(code);
        break;
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
        code = errc::not_writable;
        remedy = remedy_of(code);
        break;
    default:
        break;
    }
    return error(
        code,
        value + " (" + doing + ": " + std::generic_category().message(system_error) + ")",
        remedy
    );
}

}  // namespace mortise::sqlite_detail
