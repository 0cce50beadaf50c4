// SPDX-License-Identifier: BSL-1.0
#include "db/closure_guard.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>

namespace mortise::db::detail {
namespace {

constexpr std::array<const char*, 7> own_pragmas{
    "busy_timeout",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "synchronous",
    "wal_autocheckpoint",
    "wal_checkpoint",
};

bool is_own_pragma(const char* name, const char* value) noexcept {
    if (value == nullptr && ::sqlite3_stricmp(name, "wal_checkpoint") != 0)
        return false;  // reading is allowed
    return std::any_of(own_pragmas.begin(), own_pragmas.end(), [name](const char* own) {
        return ::sqlite3_stricmp(name, own) == 0;
    });
}

bool is_own_business(int action, const char* first, const char* second) noexcept {
    switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return true;
    case SQLITE_SAVEPOINT:
        return ::sqlite3_stricmp(second, closure_guard::savepoint) == 0;
    case SQLITE_PRAGMA:
        return is_own_pragma(first, second);
    default:
        return false;
    }
}

}  // namespace

void closure_guard::install(sqlite3* db) noexcept {
    ::sqlite3_set_authorizer(db, &closure_guard::authorize, this);
    ::sqlite3_commit_hook(db, &closure_guard::on_commit, this);
}

void closure_guard::enter() noexcept {
    inside_ = true;
    tried_ = false;
}

bool closure_guard::in_charge(sqlite3* db) noexcept {
    return ::sqlite3_commit_hook(db, &closure_guard::on_commit, this) == this;
}

int closure_guard::on_commit(void* self) noexcept {
    return static_cast<const closure_guard*>(self)->inside_ ? 1 : 0;  // 1: roll back instead
}

int closure_guard::authorize(
    void* self,
    int action,
    const char* first,
    const char* second,
    [[maybe_unused]] const char* database,
    [[maybe_unused]] const char* trigger
) noexcept {
    auto& guard = *static_cast<closure_guard*>(self);
    if (!guard.inside_ || !is_own_business(action, first, second))
        return SQLITE_OK;
    guard.tried_ = true;
    return SQLITE_DENY;
}

}  // namespace mortise::db::detail
