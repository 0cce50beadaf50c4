// SPDX-License-Identifier: BSL-1.0
#include "mortise/fence/sqlite.hpp"

#include "sqlite/statement.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mortise {
namespace {

constexpr const char* make_tables =
    "CREATE TABLE IF NOT EXISTS mortise_fence(resource BLOB PRIMARY KEY, domain TEXT NOT NULL,"
    " token INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS mortise_fence_floor(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " domain TEXT NOT NULL, token INTEGER NOT NULL)";
// The one statement that decides: it writes if the token is not below the fence, or not below the
// floor where no fence is left. If it writes nothing, the token is refused.
constexpr const char* raise_fence =
    "INSERT INTO mortise_fence(resource, domain, token) SELECT ?1, ?2, ?3"
    " WHERE EXISTS(SELECT 1 FROM mortise_fence WHERE resource = ?1) OR NOT EXISTS("
    "SELECT 1 FROM mortise_fence_floor WHERE domain <> ?2 OR token > ?3)"
    " ON CONFLICT(resource) DO UPDATE SET token = excluded.token"
    " WHERE domain = excluded.domain AND token <= excluded.token RETURNING 1";
constexpr const char* read_domain = "SELECT domain FROM mortise_fence WHERE resource = ?1"
                                    " UNION ALL SELECT domain FROM mortise_fence_floor LIMIT 1";

using sqlite_detail::parameter_bytes;
using sqlite_detail::statement;
using sqlite_detail::statement_use;

error_code failed(int code) {
    switch (code & 0xff) {
    case SQLITE_FULL:
        return errc::store_full;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return errc::not_writable;
    case SQLITE_CORRUPT:
        return errc::store_corrupt;
    case SQLITE_NOTADB:
        return errc::not_a_database;
    default:
        return errc::store_unavailable;
    }
}

// Why the fence refused the token: a higher token, or another domain.
error_code why_refused(sqlite3* db, std::string_view resource, std::string_view domain) {
    statement query;
    int code = query.prepare(db, read_domain, statement_use::once);
    if (code != SQLITE_OK)
        return failed(code);
    query.bind_blob(1, resource, parameter_bytes::borrowed);
    code = query.step();
    if (code != SQLITE_ROW)
        return failed(code);
    return query.text(0) == domain ? errc::stale_token : errc::foreign_domain;
}

error_code let_in(sqlite3* db, std::string_view resource, const fencing_token& held) {
    const auto domain = held.domain.name();
    statement write;
    int code = write.prepare(db, raise_fence, statement_use::once);
    if (code == SQLITE_ERROR) {
        // Most likely there are no tables yet. Make them only then: later calls need no extra
        // statement.
        code = ::sqlite3_exec(db, make_tables, nullptr, nullptr, nullptr);
        if (code == SQLITE_OK)
            code = write.prepare(db, raise_fence, statement_use::once);
    }
    if (code != SQLITE_OK)
        return failed(code);
    write.bind_blob(1, resource, parameter_bytes::borrowed);
    write.bind_text(2, domain, parameter_bytes::borrowed);
    write.bind(3, static_cast<std::int64_t>(held.value));
    code = write.step();
    if (code == SQLITE_ROW)
        code = write.step();  // Without a transaction, this step makes the commit.
    else if (code == SQLITE_DONE)
        return why_refused(db, resource, domain);
    return code == SQLITE_DONE ? error_code() : failed(code);
}

/// One whole number that a statement with a domain and a number finds; nothing if there is no row.
result<std::optional<std::int64_t>>
ask(sqlite3* db, const char* sql, std::string_view domain, std::int64_t number = 0) {
    statement query;
    int code = query.prepare(db, sql, statement_use::once);
    if (code != SQLITE_OK)
        return failed(code);
    query.bind_text(1, domain, parameter_bytes::borrowed);
    query.bind(2, number);
    code = query.step();
    if (code == SQLITE_DONE)
        return std::optional<std::int64_t>();
    if (code != SQLITE_ROW)
        return failed(code);
    return std::optional(query.integer(0));
}

constexpr const char* find_stranger =
    "SELECT 1 FROM (SELECT domain FROM mortise_fence UNION ALL"
    " SELECT domain FROM mortise_fence_floor) WHERE domain <> ?1 LIMIT 1";
constexpr const char* count_fences = "SELECT count(*) FROM mortise_fence WHERE domain = ?1";
constexpr const char* find_border =
    "SELECT token FROM mortise_fence WHERE domain = ?1 ORDER BY token LIMIT 1 OFFSET ?2 - 1";
constexpr const char* raise_floor =
    "INSERT INTO mortise_fence_floor(one, domain, token) VALUES(1, ?1, ?2)"
    " ON CONFLICT(one) DO UPDATE SET token = max(token, excluded.token)";
constexpr const char* forget_fences = "DELETE FROM mortise_fence WHERE domain = ?1 AND token <= ?2";

// The floor is raised before the fences go; both or neither.
result<std::size_t>
forget_lowest(sqlite3* db, std::string_view domain, std::size_t keep, std::size_t limit) {
    if (const int code = ::sqlite3_exec(db, make_tables, nullptr, nullptr, nullptr);
        code != SQLITE_OK)
        return failed(code);
    const auto stranger = ask(db, find_stranger, domain);
    if (!stranger)
        return stranger.error();
    if (*stranger)
        return error_code(errc::foreign_domain);
    const auto count = ask(db, count_fences, domain);
    if (!count)
        return count.error();
    const auto present = static_cast<std::size_t>(count->value_or(0));
    const std::size_t excess = std::min(present - std::min(present, keep), limit);
    if (excess == 0)
        return std::size_t{0};
    const auto border = ask(db, find_border, domain, static_cast<std::int64_t>(excess));
    if (!border)
        return border.error();
    for (const char* change : {raise_floor, forget_fences}) {
        if (const auto done = ask(db, change, domain, border->value_or(0)); !done)
            return done.error();
    }
    return static_cast<std::size_t>(::sqlite3_changes(db));
}

error_code check_token(const fencing_token& held) {
    constexpr auto value_end = std::uint64_t{1} << 63;
    if (!held || held.value >= value_end || held.domain.empty())
        return errc::no_token;
    return {};
}

}  // namespace

error_code sqlite_fence::raise(sqlite3* db, std::string_view resource, const fencing_token& held) {
    if (const error_code wrong = check_token(held))
        return wrong;
    return let_in(db, resource, held);
}

error_code sqlite_fence::admit(sqlite3* db, std::string_view resource, const fencing_token& held) {
    if (const error_code wrong = check_token(held))
        return wrong;
    if (::sqlite3_get_autocommit(db) != 0)
        return errc::no_transaction;
    return let_in(db, resource, held);
}

result<std::size_t>
sqlite_fence::forget(sqlite3* db, const token_domain& domain, std::size_t keep, std::size_t limit) {
    if (domain.empty())
        return error_code(errc::no_token);
    const auto run = [db](const char* sql) {
        return ::sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    };
    if (const int code = run("SAVEPOINT mortise_fence"); code != SQLITE_OK)
        return failed(code);
    auto done = forget_lowest(db, domain.name(), keep, limit);
    if (!done)
        run("ROLLBACK TO mortise_fence");
    if (const int code = run("RELEASE mortise_fence"); code != SQLITE_OK && done) {
        run("ROLLBACK TO mortise_fence");
        run("RELEASE mortise_fence");
        return failed(code);
    }
    return done;
}

}  // namespace mortise
