// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OUTBOX_SRC_TABLE_FORMAT_HPP
#define MORTISE_OUTBOX_SRC_TABLE_FORMAT_HPP

#include "mortise/db/connection.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mortise::outbox::table {

/// Reads the format of the tables that `about`, a table of names and values, describes; nothing if
/// there are none.
/// @throws error `newer_format` if the format is unknown.
std::optional<std::int64_t>
format_there(db::connection& on, const std::string& about, std::int64_t newest);

/// @throws error `older_format` if the found format is not the newest.
void refuse_older(const db::connection& on, std::int64_t found, std::int64_t newest);

/// Creates the table `about`.
void make_about(db::connection& on, const std::string& about, std::int64_t format);

}  // namespace mortise::outbox::table

#endif
