// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_EXTENDED_ERROR_HPP
#define MORTISE_DB_EXTENDED_ERROR_HPP

#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

namespace mortise::db::detail {

/// The last result code of a connection in its extended form. A connection that the user opened may
/// return the short codes only.
inline error_code extended_error(sqlite3* db, int code) noexcept {
    const int extended = ::sqlite3_extended_errcode(db);
    return sqlite_error((extended & 0xff) == (code & 0xff) ? extended : code);
}

}  // namespace mortise::db::detail

#endif
