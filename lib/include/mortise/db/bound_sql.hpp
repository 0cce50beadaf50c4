// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_BOUND_SQL_HPP
#define MORTISE_DB_BOUND_SQL_HPP

#include "mortise/db/column_value.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mortise::db {

/// A statement with the values of its parameters. The server gets both apart, so that no value is
/// ever taken for SQL.
///
/// Parameters are written as the server knows them: `$1`, `$2` for PostgreSQL, `?` for MySQL and
/// MariaDB.
class bound_sql {
public:
    bound_sql() = default;
    bound_sql(std::string statement, std::vector<column_value> parameters)
        : text(std::move(statement)), values(std::move(parameters)) {}

    /// `bound_sql("SELECT left FROM stock WHERE id = $1", id)`: integers, `double`, text, blobs,
    /// `nullptr`, and optionals of these.
    template <bindable_value... Values>
    bound_sql(std::string statement, const Values&... parameters) : text(std::move(statement)) {
        values.reserve(sizeof...(parameters));
        (values.push_back(to_column_value(parameters)), ...);
    }

    std::string text;
    std::vector<column_value> values;
};

}  // namespace mortise::db

#endif
