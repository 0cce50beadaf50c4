// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_EXTENDED_ERROR_HPP
#define MORTISE_DB_EXTENDED_ERROR_HPP

#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

namespace mortise::db::detail {

/// The last result code of a connection, with all that SQLite knows of it: one of the user's own
/// may give the short codes only.
inline error_code extended_error(sqlite3* db, int code) noexcept {
    const int extended = ::sqlite3_extended_errcode(db);
    return sqlite_error((extended & 0xff) == (code & 0xff) ? extended : code);
}

}  // namespace mortise::db::detail

#endif
