// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_STATEMENT_HPP
#define MORTISE_SQLITE_STATEMENT_HPP

#include <cstdint>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace mortise::sqlite_detail {

/// How long a statement is used.
enum class statement_use { once, often };

/// How long the bytes of a parameter live: until the statement is reset, or only for the call, so
/// that SQLite copies them.
enum class parameter_bytes { borrowed, copied };

/// A prepared statement of SQLite: its parameters, its rows, their columns.
///
/// Members give SQLite's result codes: users decide whether a failure is thrown, noted or returned.
/// Except for `operator bool` and `prepare`, the statement must have been prepared.
class statement {
public:
    statement() = default;
    ~statement() { finalize(); }
    statement(statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    statement& operator=(statement&&) = delete;

    /// Prepares the first statement in `sql`, in place of an earlier one.
    /// @param rest  is set to what follows it, if it is not null.
    /// @return `SQLITE_OK` with an empty statement if `sql` holds none.
    int prepare(
        sqlite3* db, std::string_view sql, statement_use use, std::string_view* rest = nullptr
    ) noexcept;
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The connection that it was prepared for.
    sqlite3* connection() const noexcept;

    // Parameters, from 1.
    int bind(int parameter, std::int64_t value) noexcept;
    int bind(int parameter, double value) noexcept;
    int bind_null(int parameter) noexcept;
    int bind_text(int parameter, std::string_view text, parameter_bytes bytes) noexcept;
    int bind_blob(int parameter, std::string_view blob, parameter_bytes bytes) noexcept;

    /// Goes to the next row. @return `SQLITE_ROW`, `SQLITE_DONE`, or the code of a failure.
    int step() noexcept;
    /// Ends this use and forgets the parameters.
    void reset() noexcept;

    // Columns of the present row, from 0; SQLite's conversions apply.
    int columns() const noexcept;
    std::string_view name(int column) const noexcept;
    /// `SQLITE_INTEGER`, ...
    int type(int column) const noexcept;
    std::int64_t integer(int column) const noexcept;
    double real(int column) const noexcept;
    /// The bytes as they are stored. Valid until the next step, as those of `text`.
    std::string_view blob(int column) const noexcept;
    /// Text in UTF-8, or the bytes of a blob; empty if it is NULL.
    std::string_view text(int column) const noexcept;

private:
    void finalize() noexcept;

    sqlite3_stmt* handle_ = nullptr;
};

}  // namespace mortise::sqlite_detail

#endif
