// SPDX-License-Identifier: BSL-1.0
#include "mortise/fence/sqlite.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <memory>

namespace mortise {
namespace {

constexpr const char* make_table =
    "CREATE TABLE IF NOT EXISTS mortise_fence(resource BLOB PRIMARY KEY, domain TEXT NOT NULL,"
    " token INTEGER NOT NULL) WITHOUT ROWID";
// The one statement that decides: it writes if the token is not below the fence. If it writes
// nothing, the token is refused.
constexpr const char* raise_fence =
    "INSERT INTO mortise_fence(resource, domain, token) VALUES(?1, ?2, ?3)"
    " ON CONFLICT(resource) DO UPDATE SET token = excluded.token"
    " WHERE domain = excluded.domain AND token <= excluded.token RETURNING 1";
constexpr const char* read_domain = "SELECT domain FROM mortise_fence WHERE resource = ?1";

using statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

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

statement prepare(sqlite3* db, const char* sql, int& code) {
    sqlite3_stmt* made = nullptr;
    code = ::sqlite3_prepare_v2(db, sql, -1, &made, nullptr);
    return statement(made, &::sqlite3_finalize);
}

void bind_resource(sqlite3_stmt* to, std::string_view resource) {
    // A null pointer would bind NULL, so give an empty name an address, too.
    ::sqlite3_bind_blob64(
        to, 1, resource.empty() ? "" : resource.data(), resource.size(), SQLITE_STATIC
    );
}

// Why the fence refused the token: a higher token, or another domain.
error_code why_refused(sqlite3* db, std::string_view resource, std::string_view domain) {
    int code = SQLITE_OK;
    const auto query = prepare(db, read_domain, code);
    if (code != SQLITE_OK)
        return failed(code);
    bind_resource(query.get(), resource);
    code = ::sqlite3_step(query.get());
    if (code != SQLITE_ROW)
        return failed(code);
    const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(query.get(), 0));
    const auto size = static_cast<std::size_t>(::sqlite3_column_bytes(query.get(), 0));
    return std::string_view(text ? text : "", size) == domain ? errc::stale_token
                                                              : errc::foreign_domain;
}

error_code let_in(sqlite3* db, std::string_view resource, const fencing_token& held) {
    const auto domain = held.domain.name();
    int code = SQLITE_OK;
    auto write = prepare(db, raise_fence, code);
    if (code == SQLITE_ERROR) {
        // Most likely there is no table yet. Make it only then: later calls need no extra
        // statement.
        code = ::sqlite3_exec(db, make_table, nullptr, nullptr, nullptr);
        if (code == SQLITE_OK)
            write = prepare(db, raise_fence, code);
    }
    if (code != SQLITE_OK)
        return failed(code);
    bind_resource(write.get(), resource);
    ::sqlite3_bind_text64(write.get(), 2, domain.data(), domain.size(), SQLITE_STATIC, SQLITE_UTF8);
    ::sqlite3_bind_int64(write.get(), 3, static_cast<std::int64_t>(held.value));
    code = ::sqlite3_step(write.get());
    if (code == SQLITE_ROW)
        code = ::sqlite3_step(write.get());  // Without a transaction, this step makes the commit.
    else if (code == SQLITE_DONE)
        return why_refused(db, resource, domain);
    return code == SQLITE_DONE ? error_code() : failed(code);
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

}  // namespace mortise
