// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_LISTING_HPP
#define MORTISE_TOOLS_LOCK_LISTING_HPP

#include "mortise/store_types.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace mortise::tool {

/// Writes a table with a line for each holder and, with `waiters`, one for each waiter.
void write_table(std::ostream& out, const std::vector<lock_view>& locks, bool waiters);

/// Writes a JSON object: `store`, and `locks`, an array of `name`, `holders`, `waiter_count` and
/// `waiters`.
void write_json(std::ostream& out, const std::string& store, const std::vector<lock_view>& locks);

}  // namespace mortise::tool

#endif
