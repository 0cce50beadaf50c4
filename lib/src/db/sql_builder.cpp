// SPDX-License-Identifier: BSL-1.0
#include "db/sql_builder.hpp"

#include <cstddef>
#include <cstdint>

namespace mortise::db::detail {
namespace {

// PostgreSQL would cut a longer name off, and so name another thing.
constexpr std::size_t name_size_max = 63;

std::string shown(const column_value& id) {
    if (const auto* const number = std::get_if<std::int64_t>(&id))
        return std::to_string(*number);
    if (const auto* const text = std::get_if<std::string>(&id))
        return *text;
    return "?";
}

}  // namespace

sql_builder& sql_builder::name(std::string_view column) {
    if (column.empty() || column.size() > name_size_max ||
        column.find('\0') != std::string_view::npos) {
        throw error(
            errc::value_refused,
            std::string(column),
            "tables and columns have names of 1 to 63 bytes"
        );
    }
    // SQLite takes an unknown name in double quotes for a text, so it gets back quotes.
    const char quote = dialect_ == sql_dialect::postgres ? '"' : '`';
    statement_.text += quote;
    for (const char c : column) {
        if (c == quote)
            statement_.text += quote;
        statement_.text += c;
    }
    statement_.text += quote;
    return *this;
}

sql_builder& sql_builder::table(std::string_view table) {
    const std::size_t dot =
        dialect_ == sql_dialect::sqlite ? std::string_view::npos : table.find('.');
    if (dot == std::string_view::npos)
        return name(table);
    return name(table.substr(0, dot)).text(".").name(table.substr(dot + 1));
}

sql_builder& sql_builder::value(column_value parameter) {
    statement_.values.push_back(std::move(parameter));
    if (dialect_ == sql_dialect::postgres)
        return text("$" + std::to_string(statement_.values.size()));
    return text("?");
}

sql_builder& sql_builder::row(const table_row& target) {
    return table(target.table).text(" WHERE ").name(target.id_column).text(" = ").value(target.id);
}

error row_failure(errc code, const table_row& target, std::string remedy) {
    return error(code, target.table + " " + shown(target.id), std::move(remedy));
}

}  // namespace mortise::db::detail
