// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQLITE_ERROR_HPP
#define MORTISE_DB_SQLITE_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::db {

/// The category of SQLite's own result codes, the extended ones: `code.value()` can be compared
/// with `SQLITE_CONSTRAINT_UNIQUE`. Those of a database that is busy or full are
/// `condition::retryable`.
const boost::system::error_category& sqlite_category() noexcept;

/// A result code of SQLite as an error code; zero is success.
error_code sqlite_error(int result_code) noexcept;

}  // namespace mortise::db

#endif
