// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_FAILURE_HPP
#define MORTISE_SQLITE_FAILURE_HPP

#include "mortise/error.hpp"

#include <string>

namespace mortise::sqlite_detail {

class sqlite_db;

/// What a result code of SQLite means for a store.
errc meaning_of(int sqlite_code, int system_error) noexcept;

/// Whether a connection can no longer be believed after such a code.
bool poisons(int sqlite_code) noexcept;

/// The failure of that connection to the database at `path`, in our words.
error failure_of(const sqlite_db& db, const std::string& path);

/// A failed system call in our words: `doing` what, with which file.
error failure_of_call(int system_error, const std::string& doing, const std::string& value);

/// What to do about `code`, where only the code is known.
std::string remedy_of(errc code);

}  // namespace mortise::sqlite_detail

#endif
