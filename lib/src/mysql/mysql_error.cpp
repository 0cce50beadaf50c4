// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/mysql_error.hpp"

#include <algorithm>
#include <iterator>

namespace mortise::db {
namespace {

struct number_text {
    int number;
    const char* text;
};

constexpr number_text texts[] = {
    {1020, "a row was changed by another transaction since this one began"},
    {1040, "the server has too many connections"},
    {1044, "the user has no right to this database"},
    {1045, "the server refuses the login"},
    {1048, "a column must not be NULL"},
    {1049, "there is no such database"},
    {1053, "the server shuts down"},
    {1054, "there is no such column"},
    {1062, "a unique key forbids a second row of that value"},
    {1064, "a syntax error"},
    {1142, "the user lacks a right"},
    {1146, "there is no such table"},
    {1205, "a lock was not to be had in time"},
    {1213, "a deadlock: run the transaction again"},
    {1290, "the server runs with an option that forbids this"},
    {1317, "the statement was cancelled"},
    {1406, "a value is too long for its column"},
    {1451, "a foreign key refers to this row"},
    {1452, "a foreign key refers to a row that is not there"},
    {1698, "the server refuses the login"},
    {1792, "the transaction is read-only"},
    {1836, "the server is read-only"},
    {1927, "the connection was ended by somebody"},
    {3572, "a lock was not to be had at once"},
    {4025, "a constraint forbids this row"},
};

// Lock time-out, deadlock, snapshot conflict, no place, a server that starts, stops or hangs up.
constexpr int retryable[] = {
    1020, 1040, 1041, 1053, 1077, 1080, 1203, 1205, 1206, 1213, 1226, 1614, 1927, 3169, 3572, 4031};

constexpr int lock_time_out = 1205;  // MariaDB's answer to NOWAIT, too
constexpr int lock_no_wait = 3572;

class mysql_codes final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "mysql"; }

    std::string message(int value) const override {
        const auto* const found =
            std::find_if(std::begin(texts), std::end(texts), [value](const number_text& each) {
                return each.number == value;
            });
        const char* const text =
            found == std::end(texts) ? "the server refused the statement" : found->text;
        return std::string(text) + " (error " + std::to_string(value) + ")";
    }

    bool
    equivalent(int value, const boost::system::error_condition& wanted) const noexcept override {
        if (wanted == condition::retryable)
            return std::find(std::begin(retryable), std::end(retryable), value) !=
                   std::end(retryable);
        if (wanted == condition::row_held)
            return value == lock_time_out || value == lock_no_wait;
        return error_category::equivalent(value, wanted);
    }
};

}  // namespace

const boost::system::error_category& mysql_category() noexcept {
    static const mysql_codes category;
    return category;
}

error_code mysql_error(int number) noexcept {
    return {number, mysql_category()};
}

}  // namespace mortise::db
