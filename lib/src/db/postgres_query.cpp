// SPDX-License-Identifier: BSL-1.0
#include "db/postgres_run.hpp"
#include "mortise/coro/detail/cancel_proxy.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

namespace mortise::db {

namespace detail {
namespace {

constexpr std::string_view spaces = " \t\r\n\f\v;";

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Skips spaces and comments; those in /* */ can be nested.
std::string_view without_comments(std::string_view sql) noexcept {
    for (;;) {
        sql.remove_prefix(std::min(sql.find_first_not_of(spaces), sql.size()));
        if (sql.starts_with("--")) {
            sql.remove_prefix(std::min(sql.find('\n'), sql.size()));
            continue;
        }
        if (!sql.starts_with("/*"))
            return sql;
        std::size_t depth = 0;
        do {
            const bool opens = sql.starts_with("/*");
            const bool closes = sql.starts_with("*/");
            depth += opens ? 1 : 0;
            depth -= closes ? 1 : 0;
            sql.remove_prefix(opens || closes ? 2 : 1);
        } while (depth > 0 && !sql.empty());
    }
}

// Takes the next word off the statement, in capitals; empty if there comes something else.
std::string next_word(std::string_view& sql) {
    sql = without_comments(sql);
    std::string word;
    while (!sql.empty() && is_letter(sql.front())) {
        const char c = sql.front();
        word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        sql.remove_prefix(1);
    }
    return word;
}

error_code code_of(const std::exception_ptr& why) {
    try {
        std::rethrow_exception(why);
    } catch (const boost::system::system_error& failure) {
        return failure.code();
    } catch (...) {
        return {};
    }
}

}  // namespace

bool controls_transaction(std::string_view sql) noexcept {
    const auto first = next_word(sql);
    if (first == "ROLLBACK") {
        auto next = next_word(sql);
        if (next == "WORK" || next == "TRANSACTION")
            next = next_word(sql);
        return next != "TO";
    }
    if (first == "PREPARE")
        return next_word(sql) == "TRANSACTION";
    constexpr std::array controlling = {"BEGIN", "START", "COMMIT", "END", "ABORT"};
    return std::find(controlling.begin(), controlling.end(), first) != controlling.end();
}

postgres_query::postgres_query(
    completion done, std::shared_ptr<postgres_run> run, bound_sql statement
)
    : sql(std::move(statement)), done_(std::move(done)), run_(std::move(run)) {}

void postgres_query::start() {
    const auto& core = *run_->core();
    if (core.deserted())
        return;
    coro::detail::install_cancel_proxy<postgres_query>(
        done_.release_slot(), core.strand(), weak_from_this()
    );
    asio::dispatch(core.strand(), [self = shared_from_this(), run = run_] { run->query(self); });
}

void postgres_query::on_cancel(asio::cancellation_type_t) {
    cancelled = true;
    if (run_)
        run_->cancel(*this);
}

void postgres_query::complete(std::exception_ptr failure, query_result result) {
    const auto run = std::exchange(run_, nullptr);
    auto done = std::move(done_);
    done.complete(std::move(failure), std::move(result));
}

asio::awaitable<transaction_outcome> outcome_look::operator()(postgres_connection& on) const {
    if (mark_.empty())
        co_return transaction_outcome::unknown;
    bound_sql look(
        "SELECT CASE WHEN NOT pg_is_in_recovery() AND"
        " substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) = $2::text"
        " THEN pg_xact_status($1::text::xid8) END",
        mark_.number,
        mark_.history
    );
    co_await on.query("SAVEPOINT look");
    auto looking = on.async_query(std::move(look), asio::as_tuple(asio::deferred));
    auto [why, found] = co_await std::move(looking);
    if (why && sqlstate_of(code_of(why)) == "22023") {  // this server has not drawn the number yet
        co_await on.query("ROLLBACK TO SAVEPOINT look");
        co_return transaction_outcome::unknown;
    }
    if (why)
        std::rethrow_exception(why);
    const row& status = found.first();
    if (status.is_null(0))
        co_return transaction_outcome::unknown;
    const std::string& text = status.text(0);
    if (text == "committed")
        co_return transaction_outcome::committed;
    if (text == "aborted")
        co_return transaction_outcome::rolled_back;
    co_return transaction_outcome::in_progress;
}

}  // namespace detail

postgres_connection::executor_type postgres_connection::get_executor() const noexcept {
    return run_->executor();
}

std::shared_ptr<detail::postgres_run> postgres_connection::shared_run() const {
    return run_->shared_from_this();
}

void postgres_connection::start(
    coro::detail::completion<void(std::exception_ptr, query_result)> done,
    std::shared_ptr<detail::postgres_run> run,
    bound_sql statement
) {
    const auto query = std::make_shared<detail::postgres_query>(
        std::move(done), std::move(run), std::move(statement)
    );
    query->start();
}

}  // namespace mortise::db
