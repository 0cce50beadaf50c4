// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_ERROR_HPP
#define MORTISE_DB_MYSQL_ERROR_HPP

#include "mortise/error.hpp"

namespace mortise::db {

/// The category of the error numbers of MySQL and MariaDB servers: `code.value()` is the number.
/// Those of a deadlock, a lock time-out, a server that has no room or goes away are
/// `condition::retryable`.
const boost::system::error_category& mysql_category() noexcept;

/// A number as an error code, to compare with: `code == mysql_error(1062)`. Zero is success.
error_code mysql_error(int number) noexcept;

}  // namespace mortise::db

#endif
