// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_FORMAT_HPP
#define MORTISE_OUTBOX_SRC_TABLE_FORMAT_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <string>

namespace mortise::outbox::table {

/// Whether there are tables whose format is in `about`, a table of names and values.
/// @throws error `newer_format` if it is not this one.
bool is_there(db::connection& on, const std::string& about, std::int64_t format);

/// Makes that table.
void make_about(db::connection& on, const std::string& about, std::int64_t format);

}  // namespace mortise::outbox::table

#endif
