// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_VERSIONED_ROW_HPP
#define MORTISE_DB_VERSIONED_ROW_HPP

#include "mortise/db/row.hpp"

#include <string>
#include <utility>

namespace mortise::db {

/// A row that `optimistic_update` may change: its table, its id, and the names of the two columns
/// that it needs. The version is an integer that every writer of the row makes greater by one.
class versioned_row {
public:
    versioned_row(std::string in_table, column_value of_id)
        : table(std::move(in_table)), id(std::move(of_id)) {}

    std::string table;
    column_value id;
    std::string id_column = "id";
    std::string version_column = "version";
};

}  // namespace mortise::db

#endif
