// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/postgres_error.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace mortise::db {
namespace {

constexpr std::size_t state_size = 5;
constexpr int radix = 36;
constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

struct state_text {
    std::string_view state;  ///< A whole SQLSTATE, or the two characters of its class.
    const char* text;
};

// The longer ones come first, because the first that matches is taken.
constexpr state_text texts[] = {
    {"23502", "a column must not be NULL"},
    {"23503", "a foreign key refers to a row that is not there"},
    {"23505", "a unique constraint forbids a second row of that key"},
    {"23514", "a check constraint forbids this row"},
    {"25006", "the transaction, or the server, is read-only"},
    {"25P02", "an earlier statement failed, so the transaction takes no more"},
    {"40001", "a serialization failure: run the transaction again"},
    {"40P01", "a deadlock: run the transaction again"},
    {"42501", "the user lacks a right"},
    {"42601", "a syntax error"},
    {"42703", "there is no such column"},
    {"42883", "there is no such function or operator"},
    {"42P01", "there is no such table"},
    {"53100", "the disk of the server is full"},
    {"53200", "the server is out of memory"},
    {"53300", "the server has too many connections"},
    {"55P03", "the lock was not available in time"},
    {"57014", "the statement was cancelled, or ran into a time-out"},
    {"57P01", "the connection was ended by an administrator, or the server shuts down"},
    {"57P02", "another process of the server crashed"},
    {"57P03", "the server starts or shuts down"},
    {"57P05", "the connection was idle for too long"},
    {"08", "the connection failed"},
    {"0A", "the server does not support this"},
    {"22", "a value is wrong"},
    {"23", "a constraint forbids this"},
    {"25", "not in this state of the transaction"},
    {"28", "the server refuses the login"},
    {"40", "the transaction was rolled back"},
    {"42", "the statement is wrong, or names something that is not there"},
    {"53", "the server lacks resources"},
    {"54", "a limit of the server is exceeded"},
    {"55", "not in this state of the object"},
    {"57", "an operator intervened"},
    {"58", "the server's system failed"},
    {"XX", "an internal error of the server"},
};

constexpr std::string_view retryable[] = {
    "08", "40001", "40P01", "53", "55P03", "57P01", "57P02", "57P03", "57P05"};

std::string text_of(int value) {
    std::string state(state_size, '0');
    for (std::size_t i = state_size; i-- > 0; value /= radix)
        state[i] = digits[static_cast<std::size_t>(value % radix)];
    return state;
}

class postgres_codes final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "postgresql"; }

    std::string message(int value) const override {
        const std::string state = text_of(value);
        const auto* const found =
            std::find_if(std::begin(texts), std::end(texts), [&](const state_text& each) {
                return state.starts_with(each.state);
            });
        const char* const text = found == std::end(texts) ? "the server failed" : found->text;
        return std::string(text) + " (SQLSTATE " + state + ")";
    }

    bool
    equivalent(int value, const boost::system::error_condition& wanted) const noexcept override {
        if (wanted == condition::retryable) {
            const std::string state = text_of(value);
            return std::any_of(
                std::begin(retryable),
                std::end(retryable),
                [&](std::string_view each) { return state.starts_with(each); }
            );
        }
        if (wanted == condition::row_held)
            return postgres_error("55P03").value() == value;
        return error_category::equivalent(value, wanted);
    }
};

}  // namespace

const boost::system::error_category& postgres_category() noexcept {
    static const postgres_codes category;
    return category;
}

error_code postgres_error(std::string_view sqlstate) noexcept {
    constexpr std::string_view internal = "XX000";
    const bool known = sqlstate.size() == state_size &&
                       sqlstate.find_first_not_of(digits) == std::string_view::npos;
    int value = 0;
    for (const char each : known ? sqlstate : internal)
        value = value * radix + static_cast<int>(digits.find(each));
    return {value, postgres_category()};
}

std::string sqlstate_of(const error_code& code) {
    return code.category() == postgres_category() ? text_of(code.value()) : std::string();
}

}  // namespace mortise::db
