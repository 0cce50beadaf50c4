// SPDX-License-Identifier: BSL-1.0
#include "postgres/pg_message.hpp"

#include "mortise/db/postgres_error.hpp"
#include "mortise/detail/secret.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <variant>

namespace mortise::postgres_detail {
namespace {

// The numbers of built-in types, which never change (pg_type.dat).
enum type_number : Oid {
    type_bool = 16,
    type_bytea = 17,
    type_int8 = 20,
    type_int2 = 21,
    type_int4 = 23,
    type_oid = 26,
    type_float4 = 700,
    type_float8 = 701,
};

constexpr std::size_t parameters_max = 65'535;           // a 16-bit count in the protocol
constexpr std::size_t bytes_max = std::size_t{1} << 30;  // the server's limit for one value

template <class Number>
std::string text_of(Number value) {
    std::array<char, 64> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return std::string(digits.data(), end);
}

// Reads a number as the server writes it. The whole text is one, or the type was another.
template <class Number>
db::column_value number_in(std::string_view text) {
    Number value{};
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size())
        return std::string(text);
    return value;
}

struct free_memory {
    void operator()(unsigned char* memory) const noexcept { ::PQfreemem(memory); }
};

// The bytes of a `bytea`, in whichever of its two forms the server writes it.
db::column_value bytes_in(const char* text) {
    std::size_t size = 0;
    const std::unique_ptr<unsigned char, free_memory> bytes(
        ::PQunescapeBytea(reinterpret_cast<const unsigned char*>(text), &size)
    );
    if (!bytes)
        throw std::bad_alloc();
    return db::blob(std::string(reinterpret_cast<const char*>(bytes.get()), size));
}

db::column_value value_in(const PGresult& found, int row, int column) {
    if (::PQgetisnull(&found, row, column))
        return {};
    const char* const begin = ::PQgetvalue(&found, row, column);
    const std::string_view text(
        begin, static_cast<std::size_t>(::PQgetlength(&found, row, column))
    );
    switch (::PQftype(&found, column)) {
    case type_bool:
        return std::int64_t{text == "t"};
    case type_int2:
    case type_int4:
    case type_int8:
    case type_oid:
        return number_in<std::int64_t>(text);
    case type_float4:
    case type_float8:
        return number_in<double>(text);
    case type_bytea:
        return bytes_in(begin);
    default:
        return std::string(text);
    }
}

std::int64_t affected_in(const PGresult& found) {
    const std::string_view text =
        ::PQcmdTuples(const_cast<PGresult*>(&found));  // it changes nothing
    std::int64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

std::string_view field(const PGresult& failed, int name) noexcept {
    const char* const text = ::PQresultErrorField(&failed, name);
    return text ? text : std::string_view();
}

}  // namespace

const char* remedy_of(const error_code& code) noexcept {
    if (code == errc::access_denied)
        return "check user and password, and what pg_hba.conf of the server allows";
    if (code == errc::untrusted_server)
        return "name the host as its certificate does, and the authority (ca_file)";
    if (code == errc::wrong_server)
        return "name a PostgreSQL server of version 13 or newer";
    if (code == errc::bad_config)
        return "correct the settings of the session";
    if (code == errc::value_refused)
        return "correct the value, or send it as a blob";
    if (code == errc::store_unavailable)
        return "see whether the server runs and can be reached";
    return "";
}

std::exception_ptr exception_of(const pg_failure& why) {
    return std::make_exception_ptr(error(why.code, why.text, remedy_of(why.code)));
}

const pg_failure& pg_reply::first_failure() const noexcept {
    if (failure)
        return failure;
    for (const auto& each : answers) {
        if (each.failure)
            return each.failure;
    }
    return failure;
}

pg_parameters::pg_parameters(const std::vector<db::column_value>& values) {
    numbers_.reserve(values.size());  // the pointers into it must stay valid
    for (const auto& each : values) {
        const char* bytes = nullptr;
        std::size_t size = 0;
        int format = 0;
        if (const auto* const whole = std::get_if<std::int64_t>(&each)) {
            bytes = numbers_.emplace_back(text_of(*whole)).c_str();
        } else if (const auto* const real = std::get_if<double>(&each)) {
            // A NaN may have a sign, which the server does not know.
            bytes = numbers_.emplace_back(std::isnan(*real) ? "NaN" : text_of(*real)).c_str();
        } else if (const auto* const text = std::get_if<std::string>(&each)) {
            bytes = text->c_str();
        } else if (const auto* const blob = std::get_if<db::blob>(&each)) {
            bytes = blob->bytes.data();
            size = blob->bytes.size();
            format = 1;  // binary
        }
        values_.push_back(bytes);
        lengths_.push_back(static_cast<int>(size));
        formats_.push_back(format);
    }
}

pg_failure refusal_of(const db::bound_sql& sql) {
    const auto refusal = [](std::string text) {
        return pg_failure(errc::value_refused, std::move(text));
    };
    if (sql.text.find('\0') != std::string::npos)
        return refusal("a statement with a zero byte");
    if (sql.values.size() > parameters_max)
        return refusal("more than 65,535 values");
    for (std::size_t i = 0; i < sql.values.size(); ++i) {
        const auto* const text = std::get_if<std::string>(&sql.values[i]);
        const auto* const bytes = std::get_if<db::blob>(&sql.values[i]);
        if (text && text->find('\0') != std::string::npos)
            return refusal("$" + std::to_string(i + 1) + ", a text with a zero byte");
        if ((text && text->size() >= bytes_max) || (bytes && bytes->bytes.size() >= bytes_max))
            return refusal("$" + std::to_string(i + 1) + ", which has a gibibyte or more");
    }
    return {};
}

db::query_result rows_of(const PGresult& found) {
    db::query_result result;
    result.affected = affected_in(found);
    const int columns = ::PQnfields(&found);
    const int rows = ::PQntuples(&found);
    std::vector<std::string> names;
    for (int column = 0; column < columns; ++column)
        names.emplace_back(::PQfname(&found, column));
    const auto shared = std::make_shared<const std::vector<std::string>>(std::move(names));
    result.rows.reserve(static_cast<std::size_t>(rows));
    for (int row = 0; row < rows; ++row) {
        std::vector<db::column_value> values;
        values.reserve(shared->size());
        for (int column = 0; column < columns; ++column)
            values.push_back(value_in(found, row, column));
        result.rows.emplace_back(shared, std::move(values));
    }
    return result;
}

pg_failure failure_of(const PGresult& failed, const std::string& secret) {
    const auto state = field(failed, PG_DIAG_SQLSTATE);
    if (state.empty()) {
        std::string words = ::PQresultErrorMessage(&failed);
        return {errc::store_unavailable, mortise::detail::without_secret(std::move(words), secret)};
    }
    std::string text(field(failed, PG_DIAG_MESSAGE_PRIMARY));
    for (const int more : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT}) {
        if (const auto words = field(failed, more); !words.empty())
            text += "; " + std::string(words);
    }
    return {db::postgres_error(state), mortise::detail::without_secret(std::move(text), secret)};
}

bool ends_connection(const PGresult& failed) noexcept {
    const auto severity = field(failed, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity == "FATAL" || severity == "PANIC";
}

}  // namespace mortise::postgres_detail
