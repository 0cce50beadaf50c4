// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_PREPARED_HPP
#define MORTISE_DB_PREPARED_HPP

#include "mortise/error.hpp"
#include "sqlite/statement.hpp"

#include <cstdint>
#include <string>

namespace mortise::db::detail {

/// A prepared statement, in a connection's cache or in use for once.
struct prepared {
    explicit prepared(std::string text) : sql(std::move(text)) {}

    const std::string sql;
    sqlite_detail::statement statement;
    std::uint64_t last_use = 0;
};

/// The last failure of a connection that ran `sql`, with its code in the extended form: a
/// connection that the user opened may return the short codes only.
error failure_of(sqlite3* db, int code, const std::string& sql);

}  // namespace mortise::db::detail

#endif
