// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_VERSIONED_ROW_HPP
#define MORTISE_DB_VERSIONED_ROW_HPP

#include "mortise/db/table_row.hpp"

#include <string>

namespace mortise::db {

/// A row that `optimistic_update` may change. Its version is an integer that every writer of the
/// row makes greater by one.
class versioned_row : public table_row {
public:
    using table_row::table_row;

    std::string version_column = "version";
};

}  // namespace mortise::db

#endif
