// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_QUERY_HPP
#define MORTISE_SQLITE_QUERY_HPP

#include "mortise/store_types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::sqlite_detail {

class sqlite_db;
class statement;

/// One use of a prepared statement: bind from left to right, step, read columns. Reset at the end.
///
/// `sql` must live for ever: its address is the key of the cache. The same text must not be in use
/// twice at a time.
class sqlite_query {
public:
    sqlite_query(sqlite_db& db, const char* sql);
    ~sqlite_query();
    sqlite_query(const sqlite_query&) = delete;
    sqlite_query& operator=(const sqlite_query&) = delete;

    sqlite_query& bind(std::uint64_t value);
    sqlite_query& bind_signed(std::int64_t value);
    /// Bytes, compared as bytes. They must live until the end of the query.
    sqlite_query& bind(std::string_view bytes);
    /// Text for people. It must live until the end of the query.
    sqlite_query& bind_text(std::string_view text);
    sqlite_query& bind(const random_id& id);

    /// @return whether there is a row. False after a failure of the connection, too.
    bool step();

    /// Reads an integer from `least` to `most`. Anything else fails the connection, since no store
    /// wrote it. @return `least` then.
    std::int64_t within(int column, std::int64_t least, std::int64_t most, const char* subject);
    /// Reads the name of a lock; empty after a failure, as above.
    std::string name(int column);

    std::uint64_t number(int column) const;
    std::int64_t signed_number(int column) const;
    std::string bytes(int column) const;
    random_id id(int column) const;

private:
    sqlite_db& db_;
    statement* statement_;  ///< Null after a failure of the connection.
    int bound_ = 0;
};

/// The first column of the only row; nothing (0, or empty) if there is none.
std::uint64_t number_of(sqlite_db& db, const char* sql);
std::string text_of(sqlite_db& db, const char* sql);

}  // namespace mortise::sqlite_detail

#endif
