// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_ERROR_HPP
#define MORTISE_DB_POSTGRES_ERROR_HPP

#include "mortise/error.hpp"

#include <string>
#include <string_view>

namespace mortise::db {

/// The category of PostgreSQL's own codes, the SQLSTATEs. Those of a serialization failure, a
/// deadlock, a lock time-out, a server that has no room or goes away are `condition::retryable`.
const boost::system::error_category& postgres_category() noexcept;

/// A SQLSTATE as an error code, to compare with: `code == postgres_error("23505")`. "00000" is
/// success; a text that is no SQLSTATE counts as "XX000", an internal error.
error_code postgres_error(std::string_view sqlstate) noexcept;

/// The SQLSTATE of a code of `postgres_category`; empty for other codes.
std::string sqlstate_of(const error_code& code);

}  // namespace mortise::db

#endif
