// SPDX-License-Identifier: BSL-1.0
#include "sqlite/query.hpp"

#include "mortise/options.hpp"
#include "sqlite/sqlite_db.hpp"
#include "sqlite/statement.hpp"

#include <sqlite3.h>

#include <array>
#include <cstring>

namespace mortise::sqlite_detail {
namespace {

std::array<char, 16> bytes_of(const random_id& id) noexcept {
    std::array<char, 16> bytes;
    std::memcpy(bytes.data(), &id.high, 8);
    std::memcpy(bytes.data() + 8, &id.low, 8);
    return bytes;
}

}  // namespace

sqlite_query::sqlite_query(sqlite_db& db, const char* sql)
    : db_(db), statement_(db.prepared(sql)) {}

sqlite_query::~sqlite_query() {
    if (statement_)
        statement_->reset();
}

sqlite_query& sqlite_query::bind(std::uint64_t value) {
    return bind_signed(static_cast<std::int64_t>(value));
}

sqlite_query& sqlite_query::bind_signed(std::int64_t value) {
    if (statement_)
        statement_->bind(++bound_, value);
    return *this;
}

sqlite_query& sqlite_query::bind(std::string_view bytes) {
    if (statement_)
        statement_->bind_blob(++bound_, bytes, parameter_bytes::borrowed);
    return *this;
}

sqlite_query& sqlite_query::bind_text(std::string_view text) {
    if (statement_)
        statement_->bind_text(++bound_, text, parameter_bytes::borrowed);
    return *this;
}

sqlite_query& sqlite_query::bind(const random_id& id) {
    const auto bytes = bytes_of(id);
    if (statement_)
        statement_->bind_blob(++bound_, {bytes.data(), bytes.size()}, parameter_bytes::copied);
    return *this;
}

bool sqlite_query::step() {
    if (!statement_ || db_.failed())
        return false;
    const int code = statement_->step();
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        db_.fail(code);
    return code == SQLITE_ROW;
}

std::int64_t
sqlite_query::within(int column, std::int64_t least, std::int64_t most, const char* subject) {
    const std::int64_t value = signed_number(column);
    const bool whole = statement_->type(column) == SQLITE_INTEGER;
    if (whole && value >= least && value <= most)
        return value;
    db_.fail_foreign(std::string(subject) + " = " + std::string(bytes(column).substr(0, 32)));
    return least;
}

std::string sqlite_query::name(int column) {
    const bool blob = statement_->type(column) == SQLITE_BLOB;
    std::string found = bytes(column);
    if (blob && !found.empty() && found.size() <= name_size_max)
        return found;
    db_.fail_foreign("the name of a lock");
    return {};
}

std::uint64_t sqlite_query::number(int column) const {
    return static_cast<std::uint64_t>(signed_number(column));
}

std::int64_t sqlite_query::signed_number(int column) const {
    return statement_->integer(column);
}

std::string sqlite_query::bytes(int column) const {
    return std::string(statement_->blob(column));
}

random_id sqlite_query::id(int column) const {
    const std::string raw = bytes(column);
    random_id id;
    if (raw.size() == 16) {
        std::memcpy(&id.high, raw.data(), 8);
        std::memcpy(&id.low, raw.data() + 8, 8);
    }
    return id;
}

std::uint64_t number_of(sqlite_db& db, const char* sql) {
    sqlite_query query(db, sql);
    return query.step() ? query.number(0) : 0;
}

std::string text_of(sqlite_db& db, const char* sql) {
    sqlite_query query(db, sql);
    return query.step() ? query.bytes(0) : std::string();
}

}  // namespace mortise::sqlite_detail
