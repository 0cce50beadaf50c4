// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

namespace mortise::db {
namespace {

bool may_succeed_later(int code) noexcept {
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
        return true;
    default:
        return false;
    }
}

class sqlite_codes final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "sqlite"; }
    std::string message(int value) const override { return ::sqlite3_errstr(value); }
    bool
    equivalent(int value, const boost::system::error_condition& wanted) const noexcept override {
        if (wanted == condition::retryable)
            return may_succeed_later(value);
        return error_category::equivalent(value, wanted);
    }
};

}  // namespace

const boost::system::error_category& sqlite_category() noexcept {
    static const sqlite_codes category;
    return category;
}

error_code sqlite_error(int result_code) noexcept {
    return {result_code, sqlite_category()};
}

}  // namespace mortise::db
