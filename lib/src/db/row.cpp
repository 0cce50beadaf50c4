// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/row.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/error.hpp"

#include <algorithm>
#include <utility>

namespace mortise::db {

void detail::refuse_large(std::uint64_t value) {
    throw error(
        errc::value_refused, std::to_string(value), "bind it as text, for a numeric column"
    );
}

row::row(column_names names, std::vector<column_value> values)
    : names_(std::move(names)), values_(std::move(values)) {
    MORTISE_ASSERT(names_ && names_->size() == values_.size());
}

std::size_t row::place_of(std::string_view column) const {
    if (names_) {
        const auto found = std::find(names_->begin(), names_->end(), column);
        if (found != names_->end())
            return static_cast<std::size_t>(found - names_->begin());
    }
    throw error(errc::column_unknown, std::string(column), "name a column of the row");
}

void row::require(std::size_t column) const {
    if (column >= values_.size()) {
        throw error(errc::column_unknown, std::to_string(column), "columns are numbered from zero");
    }
}

template <class T>
const T& row::held(std::size_t column, const char* otherwise) const {
    const auto* const found = std::get_if<T>(&value(column));
    if (found == nullptr)
        throw error(errc::column_type, name(column), otherwise);
    return *found;
}

const column_value& row::value(std::size_t column) const {
    require(column);
    return values_[column];
}

const std::string& row::name(std::size_t column) const {
    require(column);
    return (*names_)[column];
}

bool row::is_null(std::size_t column) const {
    return std::holds_alternative<std::monostate>(value(column));
}

std::int64_t row::integer(std::size_t column) const {
    return held<std::int64_t>(column, "it holds no integer");
}

double row::real(std::size_t column) const {
    if (const auto* const whole = std::get_if<std::int64_t>(&value(column)))
        return static_cast<double>(*whole);
    return held<double>(column, "it holds no number");
}

const std::string& row::text(std::size_t column) const {
    return held<std::string>(column, "it holds no text");
}

const std::string& row::bytes(std::size_t column) const {
    return held<blob>(column, "it holds no bytes").bytes;
}

void row::set(std::string_view column, column_value value) {
    const std::size_t place = place_of(column);
    values_[place] = std::move(value);
    changed_.resize(values_.size());
    changed_[place] = true;
}

bool row::changed() const noexcept {
    return !changed_.empty();
}

bool row::changed(std::size_t column) const {
    require(column);
    return changed() && changed_[column];
}

const row& query_result::first() const {
    if (rows.empty())
        throw error(errc::row_missing, {}, "ask whether the result is empty first");
    return rows.front();
}

}  // namespace mortise::db
