// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_READ_ONLY_HPP
#define MORTISE_DB_READ_ONLY_HPP

#include "mortise/db/connection.hpp"

#include <filesystem>
#include <optional>

namespace mortise::db {

/// A database that is only read, from any process, also while others write to it. It is not made if
/// it is not there.
///
/// @par Errors  Members throw `error` with the code of SQLite (`sqlite_category`), and what the
///              question throws.
/// @par Threads One at a time. Members block, each for one read.
class read_only {
public:
    /// @throws error if the file is not there or cannot be read.
    explicit read_only(const std::filesystem::path& database);
    ~read_only();
    read_only(const read_only&) = delete;
    read_only& operator=(const read_only&) = delete;

    /// Runs `question(connection&)`, which sees the database of one moment. @return its result.
    template <class Question>
    auto ask(Question question) {
        const snapshot all(*on_);
        return question(*on_);
    }

private:
    class snapshot {
    public:
        explicit snapshot(connection& on);
        ~snapshot();
        snapshot(const snapshot&) = delete;
        snapshot& operator=(const snapshot&) = delete;

    private:
        connection& on_;
    };

    sqlite3* handle_ = nullptr;
    std::optional<connection> on_;
};

}  // namespace mortise::db

#endif
