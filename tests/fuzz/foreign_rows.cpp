// SPDX-License-Identifier: BSL-1.0
#include "fuzz/foreign_rows.hpp"

#include "fuzz/sql_handle.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace mortise::fuzz {
namespace {

struct table {
    std::string_view name;
    std::string_view key;
    std::span<const std::string_view> columns;
};

constexpr std::array<std::string_view, 11> meta{
    "one",
    "format_major",
    "format_minor",
    "store_id",
    "domain",
    "boot_id",
    "incarnation",
    "ttl_max_ms",
    "quarantine_until",
    "token_next",
    "token_mark"};
constexpr std::array<std::string_view, 10> session{
    "key", "id", "generation", "slot", "nonce", "pid", "host", "label", "ttl_ms", "started"};
constexpr std::array<std::string_view, 12> entry{
    "name",
    "queued",
    "ordinal",
    "session",
    "request",
    "mode",
    "capacity",
    "hold_max_ms",
    "token",
    "slot",
    "since",
    "ends"};
constexpr std::array<std::string_view, 8> break_log{
    "number", "at", "name", "token", "slot", "holder", "who", "why"};
constexpr std::array<table, 4> tables{
    table{"entry", "ordinal", entry},
    table{"meta", "one", meta},
    table{"session", "key", session},
    table{"break_log", "number", break_log}};

std::string literal(std::string_view bytes, bool as_text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string sql = as_text ? "CAST(x'" : "x'";
    for (const char each : bytes) {
        const auto value = static_cast<unsigned char>(each);
        sql += {digits[value >> 4], digits[value & 15]};
    }
    return sql + (as_text ? "' AS TEXT)" : "'");
}

std::string some_value(test::byte_source& in) {
    static constexpr std::array<std::string_view, 5> names{"door", "pool", "page", "soon", "a#1"};
    switch (in.pick(10)) {
    case 0:
        return "NULL";
    case 1: {
        const std::string digits = std::to_string(in.number<std::int8_t>());
        return digits + "e" + std::to_string(in.pick(40));
    }
    case 2:
        return literal(in.text(24), true);
    case 3:
        return literal(in.text(24), false);
    case 4: {
        const auto name = names[in.pick(names.size())];
        return literal(name, in.flag());
    }
    case 5:
        return "zeroblob(" + std::to_string(in.pick(1'100)) + ")";
    default: {
        const auto value = in.edge<std::int64_t>();
        return value == std::numeric_limits<std::int64_t>::min() ? "(-9223372036854775807 - 1)"
                                                                 : std::to_string(value);
    }
    }
}

std::string update(test::byte_source& in, const table& target) {
    const auto column = target.columns[in.pick(target.columns.size())];
    std::string sql = "UPDATE OR REPLACE " + std::string(target.name) + " SET " +
                      std::string(column) + " = " + some_value(in);
    if (in.flag())
        sql += " WHERE " + std::string(target.key) + " = " + std::to_string(1 + in.pick(3));
    return sql;
}

std::string insert(test::byte_source& in, const table& target) {
    std::string sql = "INSERT OR REPLACE INTO " + std::string(target.name) + " VALUES(";
    for (std::size_t i = 0; i < target.columns.size(); ++i)
        sql += (i == 0 ? "" : ", ") + some_value(in);
    return sql + ")";
}

std::string some_change(test::byte_source& in) {
    const table& target = tables[in.flag() ? 0 : in.pick(tables.size())];
    const std::string name(target.name);
    switch (in.pick(16)) {
    case 0:
    case 1:
        return insert(in, target);
    case 2:
        return "DELETE FROM " + name + " WHERE " + std::string(target.key) + " = " +
               std::to_string(1 + in.pick(3));
    case 3:
        if (in.pick(8) == 0)
            return "DROP TABLE " + name;
        return update(in, target);
    case 4:
        if (in.pick(8) == 0)
            return "ALTER TABLE " + name + " RENAME COLUMN " +
                   std::string(target.columns[in.pick(target.columns.size())]) + " TO other";
        return update(in, target);
    case 5:
        if (in.pick(8) == 0)
            return "PRAGMA application_id = " + std::to_string(in.edge<std::int32_t>());
        return update(in, target);
    default:
        return update(in, target);
    }
}

}  // namespace

void write_foreign_rows(test::byte_source& in, const std::filesystem::path& database) {
    sql_handle db(database);
    MORTISE_ASSERT(db.run("PRAGMA synchronous = OFF"));
    MORTISE_ASSERT(db.run("PRAGMA ignore_check_constraints = ON"));
    const std::size_t changes = in.pick(8);
    for (std::size_t i = 0; i < changes; ++i)
        db.run(some_change(in));  // which the table may refuse
    db.close();
}

}  // namespace mortise::fuzz
