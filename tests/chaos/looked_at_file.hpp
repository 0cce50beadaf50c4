// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_LOOKED_AT_FILE_HPP
#define MORTISE_TESTS_CHAOS_LOOKED_AT_FILE_HPP

#include "mortise/db/connection.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

namespace mortise::test {

/// A database that a test reads beside its owner.
class looked_at_file {
public:
    explicit looked_at_file(const std::filesystem::path& path) {
        sqlite3* opened = nullptr;
        const int code = ::sqlite3_open(path.c_str(), &opened);
        file_.reset(opened);
        if (code != SQLITE_OK)
            throw std::runtime_error("cannot open " + path.string());
        ::sqlite3_busy_timeout(opened, 10'000);
    }

    /// The connection is valid as long as this object lives.
    db::connection connect() const { return db::connection(file_.get()); }

private:
    struct closer {
        void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
    };
    std::unique_ptr<sqlite3, closer> file_;
};

}  // namespace mortise::test

#endif
