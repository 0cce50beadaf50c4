// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/mysql.hpp"

#include "db/outcome_body.hpp"
#include "db/server_transaction.hpp"
#include "mysql/mysql_place.hpp"

#include <boost/asio/as_tuple.hpp>

#include <charconv>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace mortise::db {
namespace {

constexpr int no_such_table = 1146;
constexpr int lock_wait_time_out = 1205;

error_code code_of(const std::exception_ptr& failure) {
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const boost::system::system_error& thrown) {
        return thrown.code();
    }
    return {};
}

bool is_number(const std::string& text) {
    std::uint64_t number = 0;
    const auto* const end = text.data() + text.size();
    const auto [parsed, wrong] = std::from_chars(text.data(), end, number);
    return wrong == std::errc() && parsed == end && number != 0;
}

/// A connection whose transaction can be told to close it.
class look_connection : public mysql_connection {
public:
    using mysql_connection::mysql_connection;
    void retire() { transaction().retire_connection(); }
};

/// Leaves a row under the same number. It waits for a transaction that still holds the row; once it
/// is there, that transaction, whose first statement it would be, cannot be committed any more.
class outcome_look {
public:
    outcome_look(transaction_mark of, const mysql_config& config)
        : mark_(std::move(of)),
          table_(config.outcome_table),
          age_max_(std::chrono::duration_cast<std::chrono::seconds>(config.outcome_age_max)) {}
    asio::awaitable<transaction_outcome> operator()(look_connection& on) const;

private:
    transaction_mark mark_;
    std::string table_;
    std::chrono::seconds age_max_;
};

asio::awaitable<transaction_outcome> outcome_look::operator()(look_connection& on) const {
    if (mark_.empty())
        co_return transaction_outcome::unknown;
    if (table_.empty() || !is_number(mark_.number)) {
        throw error(
            errc::bad_config, "outcome_table", "trace transactions (mysql_config::outcome_table)"
        );
    }
    // Its row may have been removed already; the clocks need not agree by more than half of that.
    if (age_max_.count() > 0) {
        const std::string begun = is_number(mark_.history) ? mark_.history : "0";
        auto comparing = on.query(
            "SELECT UNIX_TIMESTAMP() - " + begun + " > " + std::to_string(age_max_.count() / 2)
        );
        const auto old = co_await std::move(comparing);
        if (old.first().integer(0) != 0)
            co_return transaction_outcome::unknown;
    }
    on.retire();
    auto setting = on.query("SET innodb_lock_wait_timeout = 1");
    co_await std::move(setting);
    bound_sql leave(
        "INSERT INTO `" + table_ + "` (number, committed) VALUES (" + mark_.number +
            ", 0) ON DUPLICATE KEY UPDATE number = number",
        {}
    );
    auto leaving = on.async_query(std::move(leave), asio::as_tuple(asio::deferred));
    const auto left = co_await std::move(leaving);
    const auto& failure = std::get<0>(left);
    if (code_of(failure) == mysql_error(lock_wait_time_out))
        co_return transaction_outcome::in_progress;
    if (code_of(failure) == mysql_error(no_such_table))
        co_return transaction_outcome::unknown;
    if (failure)
        std::rethrow_exception(failure);
    auto reading =
        on.query("SELECT committed FROM `" + table_ + "` WHERE number = " + mark_.number);
    const auto found = co_await std::move(reading);
    if (found.empty())
        co_return transaction_outcome::unknown;
    co_return found.first().integer(0) == 0 ? transaction_outcome::rolled_back
                                            : transaction_outcome::committed;
}

}  // namespace

std::uint32_t mysql_connection::server_id() const noexcept {
    return transaction().connection_number();
}

transaction_mark mysql_connection::mark() const {
    return transaction().mark();
}

mysql::mysql(executor_type executor, mysql_config config)
    : server_database(std::make_shared<detail::server_session>(
          std::move(executor), std::make_shared<detail::mysql_place>(std::move(config))
      )) {}

void detail::mysql_place::look_up(
    coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
    const std::shared_ptr<server_session>& session,
    transaction_mark mark
) {
    start_look<look_connection>(
        std::move(done), session, false, outcome_look(std::move(mark), config)
    );
}

}  // namespace mortise::db
