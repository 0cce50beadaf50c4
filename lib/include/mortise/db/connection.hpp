// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_CONNECTION_HPP
#define MORTISE_DB_CONNECTION_HPP

#include "mortise/db/bound_sql.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/statement.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace mortise::db {

/// A connection to an SQLite database, for the work of a closure, with the statements that were
/// prepared before.
///
/// Functions that take a `sqlite3*` work with `handle()`, too: `sqlite_fence`, say. A `connection`
/// can also be made on a handle of the user's own.
///
/// @par Errors       Members throw `error` with the code of SQLite (`sqlite_category`).
/// @par Threads      One at a time.
/// @par Lifetimes    The handle is borrowed; the connection ends before it is closed.
class connection {
public:
    explicit connection(sqlite3* handle, std::size_t statements_max = 128);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    sqlite3* handle() const noexcept { return handle_; }

    /// A statement with these parameters bound from left to right: integers, `double`, text,
    /// `nullptr`. The same text is prepared only once.
    template <class... Values>
    statement query(std::string_view sql, const Values&... values) {
        statement prepared = prepare(sql);
        (prepared.bind(values), ...);
        return prepared;
    }

    /// Runs one statement to its end.
    template <class... Values>
    void run(std::string_view sql, const Values&... values) {
        query(sql, values...).run();
    }

    /// The same for a statement as servers get it; parameters are written `?`. @return its rows
    query_result run(const bound_sql& bound);

    /// Rows that the last INSERT, UPDATE or DELETE changed.
    std::int64_t changes() const noexcept;
    /// The rowid of the last INSERT.
    std::int64_t last_insert_id() const noexcept;

    /// Has `then` called once the open transaction has been committed, unless the closure that asks
    /// for it is rolled back. Of several with the same name, only the first is called. Only a
    /// session makes the call, on its writing thread: `then` must not hold that up, and must not
    /// throw.
    void after_commit(std::string_view name, std::function<void()> then);

    // Not for closures.

    /// Ends every use of a statement that was left unfinished.
    void reset_statements() noexcept;
    /// The number of calls that were asked for; `forget_calls` drops all after the first `after`.
    std::size_t calls() const noexcept { return calls_.size(); }
    void forget_calls(std::size_t after = 0) noexcept;
    /// Makes the calls, after the commit.
    void make_calls() noexcept;

private:
    struct call {
        std::string name;
        std::function<void()> then;
    };

    statement prepare(std::string_view sql);
    void make_room();

    sqlite3* handle_;
    std::size_t statements_max_;
    std::uint64_t uses_ = 0;
    std::vector<std::shared_ptr<detail::prepared>> statements_;
    std::vector<call> calls_;
};

}  // namespace mortise::db

#endif
