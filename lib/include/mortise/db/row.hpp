// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_ROW_HPP
#define MORTISE_DB_ROW_HPP

#include "mortise/db/statement.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mortise::db {

/// Bytes that are no text: a blob.
class blob {
public:
    blob() = default;
    explicit blob(std::string given) noexcept : bytes(std::move(given)) {}
    friend bool operator==(const blob&, const blob&) = default;

    std::string bytes;
};

/// The value of a column; `std::monostate` stands for NULL.
using column_value = std::variant<std::monostate, std::int64_t, double, std::string, blob>;

/// Binds the next parameter of a statement to `value`.
void bind_value(statement& to, const column_value& value);

/// A copy of one row, by the names of its columns, and the changes that were made to it.
///
/// @par Errors       Members throw `error`: `SQLITE_ERROR` (in `sqlite_category`) for a column that
///                   is not there, `SQLITE_MISMATCH` for one of another type.
class row {
public:
    row() = default;
    /// Copies the present row of the statement.
    explicit row(const statement& from);

    bool is_null(std::string_view column) const;
    std::int64_t integer(std::string_view column) const;
    /// An integer is converted.
    double real(std::string_view column) const;
    const std::string& text(std::string_view column) const;
    const column_value& value(std::string_view column) const;

    /// Changes the column, here and in the row that `optimistic_update` will write. To set the
    /// value that it has already counts as a change, too.
    void set(std::string_view column, column_value value);

    // For the code that writes the row back.
    struct cell {
        std::string name;
        column_value value;
        bool changed = false;
    };
    const std::vector<cell>& cells() const noexcept { return cells_; }
    bool changed() const noexcept;

private:
    const cell& find(std::string_view column) const;

    std::vector<cell> cells_;
};

}  // namespace mortise::db

#endif
