// SPDX-License-Identifier: BSL-1.0
#include "table/format.hpp"

#include "mortise/outbox/error.hpp"

#include <string_view>

namespace mortise::outbox::table {

bool is_there(db::connection& on, const std::string& about, std::int64_t format) {
    auto known = on.query(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", std::string_view(about)
    );
    if (!known.step())
        return false;
    auto row = on.query("SELECT value FROM " + about + " WHERE name = 'format'");
    const std::int64_t found = row.step() ? row.integer(0) : 0;
    if (found != format)
        throw error(
            errc::newer_format,
            "format " + std::to_string(found),
            "this version reads format " + std::to_string(format)
        );
    return true;
}

void make_about(db::connection& on, const std::string& about, std::int64_t format) {
    on.run("CREATE TABLE " + about + "(name TEXT PRIMARY KEY, value) WITHOUT ROWID");
    on.run("INSERT INTO " + about + "(name, value) VALUES('format', ?1)", format);
}

}  // namespace mortise::outbox::table
