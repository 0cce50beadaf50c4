// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_SQLITE_DB_HPP
#define MORTISE_SQLITE_SQLITE_DB_HPP

#include "sqlite/statement.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

struct sqlite3;

namespace mortise::sqlite_detail {

/// One connection to an SQLite database, with its prepared statements and its first failure.
///
/// After a failure every query says "no row" until `forgive`, so that loops over rows end; whoever
/// began the transaction looks at `code()` and rolls back. One thread at a time.
class sqlite_db {
public:
    sqlite_db() = default;
    ~sqlite_db() { close(); }
    sqlite_db(const sqlite_db&) = delete;
    sqlite_db& operator=(const sqlite_db&) = delete;

    /// Opens or makes the file; with `only_read` it must exist. `vfs` is a file system layer of
    /// SQLite's, null for the default one. @return whether it worked; else see `code()`.
    bool open(const std::string& path, bool only_read = false, const char* vfs = nullptr);
    void close() noexcept;
    bool is_open() const noexcept { return handle_ != nullptr; }

    /// Runs statements that give no rows and are not used again. @return whether it worked.
    bool run(const char* sql);
    /// Runs one statement, which is prepared once. @return whether it worked.
    bool step(const char* sql);

    /// Sets how long a statement waits for a connection that has the database. @return whether it
    /// worked.
    bool set_busy_max(std::chrono::milliseconds limit);

    /// Whether the file can only be read: SQLite then opens it for reading without an error.
    bool read_only() const noexcept;
    bool in_transaction() const noexcept;
    /// Never fails the connection. A rollback that fails leaves a transaction open: ask
    /// `in_transaction`.
    void roll_back() noexcept;

    /// Copies the write-ahead log into the database, as far as readers allow; all of it and to the
    /// end of the file if `whole`. Waits for no reader. Must not be called in a transaction. A
    /// failure to copy is no failure of the connection.
    void checkpoint(bool whole) noexcept;
    /// Bytes in the write-ahead log after the last commit of this connection.
    std::size_t log_bytes() const noexcept { return log_pages_ * page_bytes_; }
    /// Commits of this connection that wrote to the log.
    std::uint64_t logged() const noexcept { return logged_; }
    void set_page_bytes(std::size_t bytes) noexcept { page_bytes_ = bytes; }
    std::size_t page_bytes() const noexcept { return page_bytes_; }

    bool failed() const noexcept { return code_ != 0; }
    /// The extended result code of the first failure; zero if there is none.
    int code() const noexcept { return code_; }
    /// What to say of the failure: SQLite's words, or what was found in the file.
    const std::string& text() const noexcept { return text_; }
    int system_error() const noexcept { return errno_; }
    /// Notes the first failure. `SQLITE_NOTADB` of a file that begins as a database becomes
    /// `SQLITE_CORRUPT`: its log, or the rest of it, contradicts itself.
    void fail(int code);
    /// Fails with `SQLITE_CORRUPT`, because no store writes what was found in the file.
    void fail_foreign(const std::string& subject);
    void forgive() noexcept;

    sqlite3* handle() const noexcept { return handle_; }

private:
    friend class sqlite_query;
    struct cached {
        const char* sql;
        sqlite_detail::statement statement;
    };
    /// Null after a failure.
    statement* prepared(const char* sql);
    bool begins_as_database() const noexcept;
    static int on_commit(void* self, sqlite3* db, const char* name, int pages) noexcept;

    sqlite3* handle_ = nullptr;
    std::deque<cached> statements_;  // a query keeps the address of its own
    std::size_t log_pages_ = 0;
    std::uint64_t logged_ = 0;
    std::size_t page_bytes_ = 4096;
    int busy_ms_ = 0;
    int code_ = 0;
    int errno_ = 0;
    std::string text_;
};

/// Rolls back a transaction that is still open when the scope is left.
class transaction_scope {
public:
    explicit transaction_scope(sqlite_db& db) noexcept : db_(db) {}
    ~transaction_scope() { db_.roll_back(); }
    transaction_scope(const transaction_scope&) = delete;
    transaction_scope& operator=(const transaction_scope&) = delete;

private:
    sqlite_db& db_;
};

}  // namespace mortise::sqlite_detail

#endif
