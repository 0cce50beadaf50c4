// SPDX-License-Identifier: BSL-1.0
#include "mortise/error.hpp"
#include "mysql/mysql_failure.hpp"

#include <boost/mysql/blob_view.hpp>
#include <boost/mysql/field_kind.hpp>
#include <boost/mysql/metadata.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace mortise::db::detail {
namespace {

using boost::mysql::field_kind;
using boost::mysql::field_view;

struct field_maker {
    field_view operator()(std::monostate) const { return {}; }
    field_view operator()(std::int64_t value) const { return field_view(value); }
    field_view operator()(double value) const { return field_view(value); }
    field_view operator()(const std::string& value) const {
        return field_view(boost::mysql::string_view(value));
    }
    field_view operator()(const blob& value) const {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(value.bytes.data());
        return field_view(boost::mysql::blob_view(bytes, value.bytes.size()));
    }
};

// The text of a date or a time. Boost.MySQL writes six digits of the second, of which the column
// may have fewer.
std::string text_of(const field_view& field, unsigned digits) {
    constexpr unsigned most = 6;
    std::ostringstream words;
    words << field;
    std::string text = words.str();
    const auto point = text.find('.');
    if (point != std::string::npos)
        text.resize(digits == 0 ? point : point + 1 + std::min(digits, most));
    return text;
}

column_value value_of(std::uint64_t number, const std::string& column) {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        throw error(errc::column_type, column, "it is above 2^63 - 1: CAST it AS CHAR");
    return static_cast<std::int64_t>(number);
}

column_value value_of(const field_view& field, const std::string& column, unsigned digits) {
    switch (field.kind()) {
    case field_kind::null:
        return {};
    case field_kind::int64:
        return field.get_int64();
    case field_kind::uint64:
        return value_of(field.get_uint64(), column);
    case field_kind::string:
        return std::string(field.get_string());
    case field_kind::blob: {
        const auto bytes = field.get_blob();
        return blob(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    case field_kind::float_:
        return static_cast<double>(field.get_float());
    case field_kind::double_:
        return field.get_double();
    case field_kind::date:
    case field_kind::datetime:
    case field_kind::time:
        return text_of(field, digits);
    }
    return {};
}

}  // namespace

std::vector<field_view> to_fields(const std::vector<column_value>& values) {
    std::vector<field_view> fields;
    fields.reserve(values.size());
    for (const column_value& each : values)
        fields.push_back(std::visit(field_maker{}, each));
    return fields;
}

query_result to_query_result(const boost::mysql::results& found) {
    if (!found.has_value())
        return {};
    query_result result;
    const auto columns = found.meta();
    if (columns.empty()) {
        result.affected = static_cast<std::int64_t>(found.affected_rows());
        return result;
    }
    std::vector<std::string> names;
    for (const auto& each : columns)
        names.emplace_back(each.column_name());
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(names));
    for (const auto& each : found.rows()) {
        std::vector<column_value> values;
        values.reserve(shared->size());
        for (std::size_t i = 0; i < shared->size(); ++i)
            values.push_back(value_of(each[i], (*shared)[i], columns[i].decimals()));
        result.rows.emplace_back(shared, std::move(values));
    }
    result.affected = static_cast<std::int64_t>(result.rows.size());
    return result;
}

}  // namespace mortise::db::detail
