// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_STATEMENT_HPP
#define MORTISE_DB_STATEMENT_HPP

#include "mortise/db/column_value.hpp"
#include "mortise/db/row.hpp"

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::db {

namespace detail {
struct prepared;
}

/// One use of a prepared statement: step over its rows, read their columns. At its end the
/// statement goes back to the connection that made it, ready to be used again.
///
/// A statement must not outlive the closure that it was made in.
///
/// @par Errors       `step` and `bind` throw `error` with the code of SQLite (`sqlite_category`).
/// @par Threads      One at a time, as its connection.
class statement {
public:
    explicit statement(std::shared_ptr<detail::prepared> use) noexcept;
    statement(statement&&) noexcept = default;
    statement& operator=(statement&&) = delete;
    ~statement();

    /// Binds the next parameter, from left to right. Values are copied.
    /// @throws error `value_refused` for an unsigned integer above 2^63 - 1
    template <std::integral Integer>
    statement& bind(Integer value) {
        return bind_integer(detail::to_signed(value));
    }
    statement& bind(double value);
    statement& bind(std::string_view text);
    statement& bind(std::nullptr_t);
    statement& bind_bytes(std::string_view bytes);
    statement& bind_value(const column_value& value);

    /// Goes to the next row. @return whether there is one.
    bool step();
    /// Steps to the end.
    void run();

    // Columns of the present row, from zero; SQLite's conversions apply.
    int columns() const noexcept;
    std::string name(int column) const;
    bool is_null(int column) const noexcept;
    std::int64_t integer(int column) const noexcept;
    double real(int column) const noexcept;
    /// Text, or the bytes of a blob.
    std::string text(int column) const;
    /// As `text`; nothing if it is NULL.
    std::optional<std::string> text_or_null(int column) const;
    /// SQLite's number of the type of the value: `SQLITE_INTEGER`, ...
    int type(int column) const noexcept;
    /// A copy of the present row.
    row copy_row() const;

private:
    statement& bind_integer(std::int64_t value);
    void require(int result_code) const;

    std::shared_ptr<detail::prepared> use_;
    int bound_ = 0;
};

}  // namespace mortise::db

#endif
