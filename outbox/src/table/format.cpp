// SPDX-License-Identifier: BSL-1.0
#include "table/format.hpp"

#include "mortise/outbox/error.hpp"
#include "table/schema.hpp"

#include <string_view>

namespace mortise::outbox::table {

std::optional<std::int64_t>
format_there(db::connection& on, const std::string& about, std::int64_t newest) {
    auto known = on.query(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", std::string_view(about)
    );
    if (!known.step())
        return std::nullopt;
    auto row = on.query("SELECT value FROM " + about + " WHERE name = 'format'");
    const std::int64_t found = row.step() ? row.integer(0) : 0;
    if (found < 1 || found > newest)
        throw error(
            errc::newer_format,
            "format " + std::to_string(found),
            "this version reads up to format " + std::to_string(newest)
        );
    return found;
}

void refuse_older(const db::connection& on, std::int64_t found, std::int64_t newest) {
    if (found < newest)
        throw error(
            errc::older_format,
            "format " + std::to_string(found) + " in " + path_of(on),
            "this version uses format " + std::to_string(newest)
        );
}

void make_about(db::connection& on, const std::string& about, std::int64_t format) {
    on.run("CREATE TABLE " + about + "(name TEXT PRIMARY KEY, value) WITHOUT ROWID");
    on.run("INSERT INTO " + about + "(name, value) VALUES('format', ?1)", format);
}

}  // namespace mortise::outbox::table
