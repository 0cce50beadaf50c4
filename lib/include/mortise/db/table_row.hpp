// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_TABLE_ROW_HPP
#define MORTISE_DB_TABLE_ROW_HPP

#include "mortise/db/column_value.hpp"

#include <string>
#include <utility>

namespace mortise::db {

/// A row of a table, by its id. Names of tables and columns are quoted, so they are written as the
/// database has them (PostgreSQL: in lower case, as a rule); at a server `schema.table` is allowed.
class table_row {
public:
    table_row(std::string in_table, column_value of_id)
        : table(std::move(in_table)), id(std::move(of_id)) {}

    std::string table;
    column_value id;
    std::string id_column = "id";
};

}  // namespace mortise::db

#endif
