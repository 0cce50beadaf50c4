// SPDX-License-Identifier: BSL-1.0
// The coroutines of a connection to MariaDB or MySQL.
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/db/mysql_error.hpp"
#include "mortise/store_types.hpp"
#include "mysql/mysql_wire.hpp"

#include <boost/mysql/pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::db::detail {

using coro::detail::with_code;

namespace {

constexpr int no_such_table = 1146;

}  // namespace

mysql_wire::failing mysql_wire::connect(self, std::chrono::milliseconds most) {
    co_await asio::this_coro::throw_if_cancelled(false);
    auto connecting = detail::connect(*on_, *place_, place_->login(), most);
    mysql_failure failed = co_await std::move(connecting);
    if (!failed.code) {
        // The server may be set up otherwise, and then work outside of a transaction would be lost.
        boost::mysql::pipeline_request request;
        request.add_execute("SET autocommit = 1").add_execute("SELECT UNIX_TIMESTAMP()");
        std::vector<boost::mysql::stage_response> responses;
        auto running = on_->async_run_pipeline(request, responses, notes_, with_code);
        const auto done = co_await std::move(running);
        failed = mysql_failure_of(std::get<0>(done), notes_);
        if (failed.code)
            failed.text = place_->name() + ": " + failed.text;
        else
            server_seconds_ = responses.at(1).as_results().rows().at(0).at(0).as_int64();
    }
    if (failed.code)
        co_return failed;
    usable_ = true;
    opened_at_ = time_->now();
    co_return failed;
}

mysql_wire::failing mysql_wire::send_all(texts statements) {
    boost::mysql::pipeline_request request;
    for (const std::string& each : statements)
        request.add_execute(each);
    std::vector<boost::mysql::stage_response> responses;
    auto running = on_->async_run_pipeline(request, responses, notes_, with_code);
    const auto done = co_await std::move(running);
    mysql_failure failed = mysql_failure_of(std::get<0>(done), notes_);
    for (const auto& each : responses) {
        if (!failed.ends_connection && each.error()) {
            failed = mysql_failure_of(each.error(), each.diag());
            break;
        }
    }
    co_return failed;
}

mysql_wire::failing mysql_wire::send(self, texts statements) {
    auto sending = send_all(std::move(statements));
    co_return co_await std::move(sending);
}

mysql_wire::failing mysql_wire::ping(self) {
    auto asking = on_->async_ping(notes_, with_code);
    const auto answer = co_await std::move(asking);
    co_return mysql_failure_of(std::get<0>(answer), notes_);
}

// Removes old rows now and then, before the transaction, whose locks would last for longer; makes
// the table if it is not there, which ends the transaction.
mysql_wire::failing mysql_wire::begin_traced(self, texts statements) {
    const auto& config = place_->config;
    const std::string table = "`" + config.outcome_table + "`";
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(config.outcome_age_max);
    if (age.count() > 0 && place_->purge_due()) {
        texts purge = {
            "DELETE FROM " + table + " WHERE begun < NOW() - INTERVAL " +
            std::to_string(age.count()) + " SECOND LIMIT 1000"};
        auto purging = send_all(std::move(purge));
        const auto purged = co_await std::move(purging);
        if (purged.ends_connection)
            co_return purged;
    }
    auto beginning = send_all(statements);
    auto failed = co_await std::move(beginning);
    if (failed.code != mysql_error(no_such_table))
        co_return failed;
    texts make = {
        "ROLLBACK",
        "CREATE TABLE IF NOT EXISTS " + table +
            " (number BIGINT UNSIGNED NOT NULL PRIMARY KEY, committed TINYINT NOT NULL, "
            "begun TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, KEY (begun)) ENGINE=InnoDB"};
    auto making = send_all(std::move(make));
    failed = co_await std::move(making);
    if (failed.code)
        co_return failed;
    auto again = send_all(std::move(statements));
    co_return co_await std::move(again);
}

mysql_wire::failing mysql_wire::perform(self, bound_sql statement) {
    const auto fields = to_fields(statement.values);
    boost::mysql::results found;
    error_code done;
    if (fields.empty()) {
        const boost::mysql::string_view text = statement.text;
        auto executing = on_->async_execute(text, found, notes_, with_code);
        done = std::get<0>(co_await std::move(executing));
    } else {
        boost::mysql::statement prepared;
        auto preparing = prepare(statement.text, prepared);
        if (auto failed = co_await std::move(preparing); failed.code)
            co_return failed;
        if (prepared.num_params() != fields.size()) {
            co_return mysql_failure(
                errc::value_refused,
                "the statement has " + std::to_string(prepared.num_params()) + " parameters, and " +
                    std::to_string(fields.size()) + " values were given",
                false
            );
        }
        // A cancellation between the two may have come too late for the first.
        if (cancelled_)
            co_return mysql_failure(asio::error::operation_aborted, {}, false);
        const auto bound = prepared.bind(fields.cbegin(), fields.cend());
        auto executing = on_->async_execute(bound, found, notes_, with_code);
        done = std::get<0>(co_await std::move(executing));
    }
    if (auto failed = mysql_failure_of(done, notes_); failed.code)
        co_return failed;
    try {
        result_ = to_query_result(found);
    } catch (const error& refused) {
        co_return mysql_failure(refused.code(), refused.value() + ": " + refused.remedy(), false);
    }
    co_return mysql_failure();
}

// Prepares a statement, unless it was prepared before; the one that was not used for longest makes
// room.
mysql_wire::failing mysql_wire::prepare(std::string text, boost::mysql::statement& prepared) {
    const auto known = statements_.find(text);
    if (known != statements_.end()) {
        known->second.used = ++uses_;
        prepared = known->second.prepared;
        co_return mysql_failure();
    }
    if (statements_.size() >= place_->config.statements_max) {
        const auto oldest = std::min_element(
            statements_.begin(),
            statements_.end(),
            [](const auto& a, const auto& b) { return a.second.used < b.second.used; }
        );
        const auto surplus = oldest->second.prepared;
        statements_.erase(oldest);
        auto closing = on_->async_close_statement(surplus, notes_, with_code);
        const auto closed = co_await std::move(closing);
        if (auto failed = mysql_failure_of(std::get<0>(closed), notes_); failed.code)
            co_return failed;
    }
    auto preparing = on_->async_prepare_statement(text, notes_, with_code);
    const auto answer = co_await std::move(preparing);
    const auto failed = mysql_failure_of(std::get<0>(answer), notes_);
    if (!failed.code) {
        prepared = std::get<1>(answer);
        statements_.insert_or_assign(std::move(text), kept_statement{prepared, ++uses_});
    }
    co_return failed;
}

// A number that no other transaction has, and not zero; and when it was drawn, by the server's
// clock.
void mysql_wire::draw_mark() {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(time_->now() - opened_at_);
    mark_ = transaction_mark(
        std::to_string((random_id::draw().low >> 1) + 1),
        std::to_string(server_seconds_ + age.count())
    );
}

mysql_wire::texts mysql_wire::first_statements(const transaction_options& options) {
    texts all;
    const std::string level = "SET TRANSACTION ISOLATION LEVEL ";
    if (options.level == isolation::read_committed)
        all.push_back(level + "READ COMMITTED");
    else if (options.level == isolation::repeatable_read)
        all.push_back(level + "REPEATABLE READ");
    else if (options.level == isolation::serializable)
        all.push_back(level + "SERIALIZABLE");
    if (xid_.empty()) {
        all.emplace_back(options.read_only ? "START TRANSACTION READ ONLY" : "START TRANSACTION");
    } else {
        if (options.read_only)
            all.emplace_back("SET TRANSACTION READ ONLY");
        all.push_back("XA START " + xid_);
    }
    if (!mark_.empty()) {
        all.push_back(
            "INSERT INTO `" + place_->config.outcome_table + "` (number, committed) VALUES (" +
            mark_.number + ", 1)"
        );
    }
    return all;
}

}  // namespace mortise::db::detail
