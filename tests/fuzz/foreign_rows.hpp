// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_FOREIGN_ROWS_HPP
#define MORTISE_TESTS_FUZZ_FOREIGN_ROWS_HPP

#include "support/byte_source.hpp"

#include <filesystem>

namespace mortise::fuzz {

/// Changes what stands in the tables of an SQLite store: values of any type in any column, rows
/// more or less, a table that is gone.
void write_foreign_rows(test::byte_source& in, const std::filesystem::path& database);

}  // namespace mortise::fuzz

#endif
