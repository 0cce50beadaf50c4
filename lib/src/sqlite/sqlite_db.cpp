// SPDX-License-Identifier: BSL-1.0
#include "sqlite/sqlite_db.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace mortise::sqlite_detail {

bool sqlite_db::open(const std::string& path, bool only_read, const char* vfs) {
    close();
    forgive();
    const int access =
        only_read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const int flags =
        access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
    const int code = ::sqlite3_open_v2(path.c_str(), &handle_, flags, vfs);
    if (code != SQLITE_OK) {
        fail(code);
        close();
        return false;
    }
    // The hook takes the place of SQLite's own automatic checkpoint, which would run outside of our
    // lock.
    ::sqlite3_wal_hook(handle_, &sqlite_db::on_commit, this);
    ::sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    return true;
}

void sqlite_db::close() noexcept {
    statements_.clear();
    ::sqlite3_close(handle_);
    handle_ = nullptr;
    log_pages_ = 0;
}

int sqlite_db::on_commit(void* self, sqlite3*, const char*, int pages) noexcept {
    auto& connection = *static_cast<sqlite_db*>(self);
    connection.log_pages_ = static_cast<std::size_t>(std::max(pages, 0));
    ++connection.logged_;
    return SQLITE_OK;
}

bool sqlite_db::run(const char* sql) {
    if (failed())
        return false;
    const int code = ::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        fail(code);
    return code == SQLITE_OK;
}

bool sqlite_db::step(const char* sql) {
    statement* const kept = prepared(sql);
    if (!kept)
        return false;
    const int code = kept->step();
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        fail(code);
    kept->reset();
    return !failed();
}

bool sqlite_db::read_only() const noexcept {
    return ::sqlite3_db_readonly(handle_, "main") == 1;
}

bool sqlite_db::in_transaction() const noexcept {
    return handle_ && ::sqlite3_get_autocommit(handle_) == 0;
}

void sqlite_db::roll_back() noexcept {
    if (in_transaction())
        ::sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

bool sqlite_db::set_busy_max(std::chrono::milliseconds limit) {
    if (failed())
        return false;
    busy_ms_ = static_cast<int>(limit.count());
    const int code = ::sqlite3_busy_timeout(handle_, busy_ms_);
    if (code != SQLITE_OK)
        fail(code);
    return code == SQLITE_OK;
}

void sqlite_db::checkpoint(bool whole) noexcept {
    int left = 0;
    int copied = 0;
    ::sqlite3_busy_timeout(handle_, 0);
    ::sqlite3_wal_checkpoint_v2(
        handle_,
        nullptr,
        whole ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
        &left,
        &copied
    );
    ::sqlite3_busy_timeout(handle_, busy_ms_);
    // If all of the log was copied, the next commit begins it anew; otherwise the hook tells its
    // size.
    if (left >= 0 && left == copied)
        log_pages_ = 0;
}

void sqlite_db::fail(int code) {
    if (failed())
        return;
    code_ = (code & 0xff) == SQLITE_NOTADB && begins_as_database() ? SQLITE_CORRUPT : code;
    text_ = "SQLite says: ";
    text_ += handle_ ? ::sqlite3_errmsg(handle_) : ::sqlite3_errstr(code);
    // SQLite keeps this number from earlier calls, too: only with these two codes it belongs to
    // this failure.
    const bool of_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    errno_ = handle_ && of_system ? ::sqlite3_system_errno(handle_) : 0;
}

// Reads through SQLite's own descriptor: closing another one of the same file would drop all POSIX
// locks that this process has on it.
bool sqlite_db::begins_as_database() const noexcept {
    static constexpr std::string_view magic("SQLite format 3\0", 16);
    sqlite3_file* file = nullptr;
    const bool there =
        handle_ && ::sqlite3_file_control(
                       handle_, nullptr, SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file)
                   ) == SQLITE_OK;
    if (!there || file == nullptr || file->pMethods == nullptr)
        return false;
    std::array<char, magic.size()> head{};
    return file->pMethods->xRead(file, head.data(), static_cast<int>(head.size()), 0) ==
               SQLITE_OK &&
           std::string_view(head.data(), head.size()) == magic;
}

void sqlite_db::fail_foreign(const std::string& subject) {
    if (failed())
        return;
    code_ = SQLITE_CORRUPT;
    text_ = subject + " is nothing that a store writes";
}

void sqlite_db::forgive() noexcept {
    code_ = 0;
    errno_ = 0;
    text_.clear();
}

statement* sqlite_db::prepared(const char* sql) {
    if (failed())
        return nullptr;
    const auto found =
        std::find_if(statements_.begin(), statements_.end(), [sql](const cached& each) {
            return each.sql == sql;
        });
    if (found != statements_.end())
        return &found->statement;
    statement fresh;
    if (const int code = fresh.prepare(handle_, sql, statement_use::often); code != SQLITE_OK) {
        fail(code);
        return nullptr;
    }
    statements_.push_back({sql, std::move(fresh)});
    return &statements_.back().statement;
}

}  // namespace mortise::sqlite_detail
