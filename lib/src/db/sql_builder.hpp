// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQL_BUILDER_HPP
#define MORTISE_DB_SQL_BUILDER_HPP

#include "mortise/db/bound_sql.hpp"
#include "mortise/db/detail/sql_runner.hpp"
#include "mortise/db/table_row.hpp"
#include "mortise/error.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace mortise::db::detail {

/// A statement in the making: quotes names, and writes parameters as the database wants them.
class sql_builder {
public:
    explicit sql_builder(sql_dialect dialect) noexcept : dialect_(dialect) {}

    sql_builder& text(std::string_view sql) {
        statement_.text += sql;
        return *this;
    }
    /// The name of a column. @throws error `value_refused` if it can be none.
    sql_builder& name(std::string_view column);
    /// The name of a table; at a server, a dot in it separates the schema. @throws as `name`
    sql_builder& table(std::string_view table);
    sql_builder& value(column_value parameter);
    /// `table WHERE id_column = id`
    sql_builder& row(const table_row& target);

    bound_sql take() { return std::move(statement_); }

private:
    sql_dialect dialect_;
    bound_sql statement_;
};

/// An error about a row, which it names.
error row_failure(errc code, const table_row& target, std::string remedy);

}  // namespace mortise::db::detail

#endif
