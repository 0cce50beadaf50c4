// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_DB_HPP
#define MORTISE_STORE_SQLITE_DB_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace mortise::store_detail {

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

    /// Opens or makes the file; one that is only read must be there. `vfs` is a file system layer
    /// of SQLite's, null for the default one. @return whether it worked; else see `code()`.
    bool open(const std::string& path, bool only_read = false, const char* vfs = nullptr);
    void close() noexcept;
    bool is_open() const noexcept { return handle_ != nullptr; }

    /// Runs statements that give no rows and are not used again. @return whether it worked.
    bool run(const char* sql);
    /// Runs one statement that was prepared before, or is now. @return whether it worked.
    bool step(const char* sql);

    /// SQLite opens a file that it may not write for reading, without a word.
    bool read_only() const noexcept;
    bool in_transaction() const noexcept;
    /// Never fails the connection: a rollback that fails leaves a transaction, which the caller
    /// asks for.
    void roll_back() noexcept;

    /// Copies the write-ahead log into the database, as far as readers allow; all of it and to the
    /// end of the file if `whole`. Not in a transaction. A failure to do so is no failure of the
    /// connection.
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
    /// What there is to say of it: SQLite's words, or of what was found.
    const std::string& text() const noexcept { return text_; }
    int system_error() const noexcept { return errno_; }
    /// `SQLITE_NOTADB` of a file that begins as a database is noted as `SQLITE_CORRUPT`: what
    /// contradicts itself is the log, or the rest.
    void fail(int code);
    /// What stands in the file is nothing that a store writes: fails with `SQLITE_CORRUPT`.
    void fail_foreign(const std::string& what);
    void forgive() noexcept;

    sqlite3* handle() const noexcept { return handle_; }

private:
    friend class sqlite_query;
    struct cached {
        const char* sql;
        sqlite3_stmt* statement;
    };
    sqlite3_stmt* prepared(const char* sql);
    bool begins_as_database() const noexcept;
    static int on_commit(void* self, sqlite3* db, const char* name, int pages) noexcept;

    sqlite3* handle_ = nullptr;
    std::vector<cached> statements_;
    std::size_t log_pages_ = 0;
    std::uint64_t logged_ = 0;
    std::size_t page_bytes_ = 4096;
    int code_ = 0;
    int errno_ = 0;
    std::string text_;
};

}  // namespace mortise::store_detail

#endif
