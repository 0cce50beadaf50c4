// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_ROW_HPP
#define MORTISE_DB_ROW_HPP

#include "mortise/db/column_value.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::db {

/// A copy of one row of any database: the names of its columns, their values, and the changes that
/// were made to it. Columns go by name, or by number from zero; of several columns with the same
/// name, the name means the first.
///
/// @par Errors       Members throw `error`: `column_unknown` for a column that is not there,
///                   `column_type` for one of another type.
/// @par Threads      One at a time. Copies of a row share nothing that changes.
class row {
public:
    /// The names of the columns, which all rows of one result share.
    using column_names = std::shared_ptr<const std::vector<std::string>>;

    row() = default;
    /// There are as many names as values.
    row(column_names names, std::vector<column_value> values);

    bool is_null(std::string_view column) const { return is_null(place_of(column)); }
    std::int64_t integer(std::string_view column) const { return integer(place_of(column)); }
    /// An integer is converted.
    double real(std::string_view column) const { return real(place_of(column)); }
    const std::string& text(std::string_view column) const { return text(place_of(column)); }
    /// The bytes of a blob.
    const std::string& bytes(std::string_view column) const { return bytes(place_of(column)); }
    const column_value& value(std::string_view column) const { return value(place_of(column)); }

    bool is_null(std::size_t column) const;
    std::int64_t integer(std::size_t column) const;
    double real(std::size_t column) const;
    const std::string& text(std::size_t column) const;
    const std::string& bytes(std::size_t column) const;
    const column_value& value(std::size_t column) const;

    /// The number of columns.
    std::size_t size() const noexcept { return values_.size(); }
    const std::string& name(std::size_t column) const;

    /// Changes the column, here and in the row that `optimistic_update` will write. To set the
    /// value that it has already counts as a change, too.
    void set(std::string_view column, column_value value);

    bool changed() const noexcept;
    bool changed(std::size_t column) const;

private:
    std::size_t place_of(std::string_view column) const;
    void require(std::size_t column) const;
    template <class T>
    const T& held(std::size_t column, const char* otherwise) const;

    column_names names_;
    std::vector<column_value> values_;
    std::vector<bool> changed_;  ///< Empty as long as nothing was set.
};

}  // namespace mortise::db

#endif
