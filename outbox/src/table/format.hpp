// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_FORMAT_HPP
#define MORTISE_OUTBOX_SRC_TABLE_FORMAT_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mortise::outbox::table {

/// The format of the tables of which `about` tells, a table of names and values; nothing if there
/// are none.
/// @throws error `newer_format` if it is none that is known.
std::optional<std::int64_t>
format_there(db::connection& on, const std::string& about, std::int64_t newest);

/// @throws error `older_format` if what was found is not the newest.
void refuse_older(const db::connection& on, std::int64_t found, std::int64_t newest);

/// Makes that table.
void make_about(db::connection& on, const std::string& about, std::int64_t format);

}  // namespace mortise::outbox::table

#endif
