// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_QUERY_RESULT_HPP
#define MORTISE_DB_QUERY_RESULT_HPP

#include "mortise/db/row.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace mortise::db {

/// The answer of a server to one statement.
class query_result {
public:
    query_result() = default;
    query_result(std::vector<row> found, std::int64_t changed)
        : rows(std::move(found)), affected(changed) {}

    bool empty() const noexcept { return rows.empty(); }
    /// The first row. @throws error `row_missing` if there is none.
    const row& first() const;

    std::vector<row> rows;
    /// The number of rows that an INSERT, UPDATE or DELETE changed; after a SELECT, the number of
    /// rows.
    std::int64_t affected = 0;
};

}  // namespace mortise::db

#endif
