// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/db/mysql.hpp"
#include "mortise/store_types.hpp"
#include "mysql/mysql_session.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <charconv>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace mortise::db::detail {

using coro::detail::with_code;

namespace {

using mysql_body = transaction_body<mysql_connection>;

constexpr int no_such_table = 1146;
constexpr int lock_time_out = 1205;

// A number that no other transaction has, and not zero.
std::uint64_t random_number() {
    return (random_id::draw().low >> 1) + 1;
}

std::exception_ptr aborted() {
    return std::make_exception_ptr(
        boost::system::system_error(error_code(asio::error::operation_aborted))
    );
}

void start_body(
    coro::detail::completion<void(std::exception_ptr)> done,
    std::shared_ptr<mysql_body> body,
    std::shared_ptr<mysql_connection> on
) {
    const auto slot = done.release_slot();
    const auto kept = std::make_shared<decltype(done)>(std::move(done));
    body->start(on, *on, slot, [kept](std::exception_ptr failure) { kept->complete(failure); });
}

/// One call of `async_run`, on the executor of its caller.
class transaction_run {
public:
    transaction_run(
        std::shared_ptr<mysql_session> session,
        transaction_options options,
        std::shared_ptr<mysql_body> body
    )
        : session_(std::move(session)),
          options_(options),
          body_(std::move(body)),
          pauses_(options.pause, session_->jitter_seed()) {}

    asio::awaitable<void> run(std::shared_ptr<transaction_run> self);

private:
    /// The end of one attempt.
    struct ending {
        std::exception_ptr failure;
        bool repeat = false;
    };

    const mysql_config& config() const noexcept { return session_->config(); }
    bool traced() const noexcept {
        return options_.traced && !options_.read_only && !config().outcome_table.empty();
    }

    asio::awaitable<ending> attempt();
    asio::awaitable<void> begin(mysql_lease& lease);
    asio::awaitable<std::exception_ptr> run_closure(std::shared_ptr<mysql_wire> wire);
    asio::awaitable<ending>
    finish(std::shared_ptr<mysql_wire> wire, std::exception_ptr failure, bool stopped);
    asio::awaitable<std::exception_ptr> commit(std::shared_ptr<mysql_wire> wire);
    std::vector<std::string> first_statements(std::uint64_t number) const;
    std::string tracing_statement(std::uint64_t number) const;

    const std::shared_ptr<mysql_session> session_;
    const transaction_options options_;
    const std::shared_ptr<mysql_body> body_;
    coro::backoff pauses_;
    std::uint32_t attempts_ = 0;
};

asio::awaitable<void> transaction_run::run(std::shared_ptr<transaction_run>) {
    co_await asio::this_coro::reset_cancellation_state(as_terminal(), as_terminal());
    for (;;) {
        ++attempts_;
        auto trying = attempt();
        const ending end = co_await std::move(trying);
        if (!end.failure)
            co_return;
        if (!end.repeat)
            std::rethrow_exception(end.failure);
        ++session_->counts().repeated;
        auto pausing = coro::sleep_for(session_->time(), pauses_.next());
        co_await std::move(pausing);
    }
}

asio::awaitable<transaction_run::ending> transaction_run::attempt() {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    auto taking = session_->take();
    mysql_lease lease = co_await std::move(taking);
    std::exception_ptr failure;
    try {
        auto beginning = begin(lease);
        co_await std::move(beginning);
        auto running = run_closure(lease.wire());
        failure = co_await std::move(running);
    } catch (...) {
        failure = std::current_exception();
    }
    // The end is not cancelled, but a signal that comes meanwhile is not forgotten.
    const auto state = co_await asio::this_coro::cancellation_state;
    const bool stopped = state.cancelled() != asio::cancellation_type::none;
    co_await asio::this_coro::throw_if_cancelled(false);
    auto finishing = asio::co_spawn(
        executor,
        finish(lease.wire(), std::move(failure), stopped),
        asio::bind_cancellation_slot(asio::cancellation_slot(), with_code)
    );
    auto finished = co_await std::move(finishing);
    co_await asio::this_coro::throw_if_cancelled(true);
    lease.keep();
    if (const auto& unexpected = std::get<0>(finished))
        std::rethrow_exception(unexpected);
    co_return std::move(std::get<1>(finished));
}

std::string transaction_run::tracing_statement(std::uint64_t number) const {
    return "INSERT INTO `" + config().outcome_table + "` (number, committed) VALUES (" +
           std::to_string(number) + ", 1)";
}

std::vector<std::string> transaction_run::first_statements(std::uint64_t number) const {
    std::vector<std::string> all;
    const std::string level = "SET TRANSACTION ISOLATION LEVEL ";
    switch (options_.level) {
    case isolation::as_configured:
        break;
    case isolation::read_committed:
        all.push_back(level + "READ COMMITTED");
        break;
    case isolation::repeatable_read:
        all.push_back(level + "REPEATABLE READ");
        break;
    case isolation::serializable:
        all.push_back(level + "SERIALIZABLE");
        break;
    }
    all.emplace_back(options_.read_only ? "START TRANSACTION READ ONLY" : "START TRANSACTION");
    if (number != 0)
        all.push_back(tracing_statement(number));
    return all;
}

// Begins the transaction, on a new connection if the one from the pool turns out to be dead, for
// nothing was done on it yet.
asio::awaitable<void> transaction_run::begin(mysql_lease& lease) {
    for (bool first = true;; first = false) {
        const std::uint64_t number = traced() ? random_number() : 0;
        const auto wire = lease.wire();
        wire->present = {};
        auto beginning = wire->run(first_statements(number), config().answer_max);
        auto failed = co_await std::move(beginning);
        if (number != 0 && failed.code == mysql_error(no_such_table)) {
            auto making = session_->make_outcome_table();
            co_await std::move(making);
            std::vector<std::string> again = {tracing_statement(number)};
            auto tracing = wire->run(std::move(again), config().answer_max);
            failed = co_await std::move(tracing);
        }
        if (!failed.code) {
            wire->present.open = true;
            wire->present.number = number;
            co_return;
        }
        if (!failed.ends_connection || !first)
            throw wire->explain(failed);
        auto connecting = session_->connect();
        auto fresh = co_await std::move(connecting);
        lease.set(std::move(fresh));
    }
}

asio::awaitable<std::exception_ptr> transaction_run::run_closure(std::shared_ptr<mysql_wire> wire) {
    const auto on = std::make_shared<mysql_connection>(std::move(wire));
    auto closing = coro::detail::async_start<void(std::exception_ptr)>(
        body_->executor(), with_code, &start_body, body_, on
    );
    auto closed = co_await std::move(closing);
    co_return std::move(std::get<0>(closed));
}

// Commits, or undoes everything. A closure may have hidden that the server has undone its work.
asio::awaitable<transaction_run::ending> transaction_run::finish(
    std::shared_ptr<mysql_wire> wire, std::exception_ptr failure, bool stopped
) {
    ending end;
    end.failure = std::move(failure);
    error_code why = wire->present.ending;
    if (!end.failure && stopped)
        end.failure = aborted();
    if (!end.failure && why) {
        end.failure = std::make_exception_ptr(
            error(errc::rolled_back, why.message(), "let the error pass out of the closure")
        );
    }
    if (const auto abandon = wire->abandon_call) {
        wire->spoil();  // nothing can be sent beside a statement
        abandon();
        if (!end.failure) {
            end.failure = std::make_exception_ptr(
                error(errc::transaction_control, {}, "await every statement in the closure")
            );
        }
    }
    if (!end.failure && !wire->usable()) {
        end.failure = std::make_exception_ptr(
            error(errc::store_unavailable, "the connection ended", "nothing was done: try again")
        );
    }
    if (!end.failure) {
        auto committing = commit(wire);
        end.failure = co_await std::move(committing);
        why = wire->present.ending;  // a deadlock at the last moment
        if (!end.failure || !wire->usable()) {
            wire->present.open = false;
            co_return end;  // done, or nobody knows
        }
    }
    wire->present.open = false;
    ++session_->counts().rolled_back;
    if (wire->usable()) {
        std::vector<std::string> rollback = {"ROLLBACK"};
        auto undoing = wire->run(std::move(rollback), config().answer_max);
        const auto failed = co_await std::move(undoing);
        if (failed.code)
            wire->spoil();
    }
    end.repeat = ends_transaction(why) && !stopped && attempts_ < options_.attempts_max;
    co_return end;
}

asio::awaitable<std::exception_ptr> transaction_run::commit(std::shared_ptr<mysql_wire> wire) {
    std::vector<std::string> statements = {"COMMIT"};
    auto committing = wire->run(std::move(statements), config().answer_max);
    const auto failed = co_await std::move(committing);
    if (!failed.code) {
        ++session_->counts().committed;
        co_return nullptr;
    }
    if (failed.ends_connection && options_.read_only)
        co_return nullptr;  // there was nothing to commit
    const error explained = wire->explain(failed);
    if (!failed.ends_connection)
        co_return std::make_exception_ptr(explained);
    ++session_->counts().unknown;
    const auto number = wire->present.number;
    auto mark = number == 0 ? transaction_mark() : transaction_mark(std::to_string(number), {});
    co_return std::make_exception_ptr(lost_commit(std::move(mark), explained.value()));
}

}  // namespace

void run_mysql_transaction(
    std::shared_ptr<mysql_session> session,
    transaction_options options,
    std::shared_ptr<mysql_body> body
) {
    const auto executor = body->executor();
    const auto relay = std::make_shared<signal_relay>();
    relay->listen(body->release_slot(), executor);
    const auto run = std::make_shared<transaction_run>(std::move(session), options, body);
    asio::co_spawn(
        executor,
        run->run(run),
        asio::bind_cancellation_slot(
            relay->slot(),
            [body, relay](std::exception_ptr failure) { body->deliver(std::move(failure)); }
        )
    );
}

// Leaves a row under the same number. It waits for a transaction that still holds the row; once it
// is there, that transaction, whose first statement it would be, cannot be committed any more.
asio::awaitable<transaction_outcome> mysql_session::look_up(transaction_mark mark) {
    std::uint64_t number = 0;
    const auto* const end = mark.number.data() + mark.number.size();
    const auto [parsed, wrong] = std::from_chars(mark.number.data(), end, number);
    if (config().outcome_table.empty() || wrong != std::errc() || parsed != end || number == 0) {
        throw error(
            errc::bad_config, "outcome_table", "trace transactions (mysql_config::outcome_table)"
        );
    }
    const std::string table = "`" + config().outcome_table + "`";
    auto connecting = connect();
    const auto wire = co_await std::move(connecting);
    std::vector<std::string> statements = {
        "SET innodb_lock_wait_timeout = 1",
        "INSERT INTO " + table + " (number, committed) VALUES (" + mark.number +
            ", 0) ON DUPLICATE KEY UPDATE number = number"};
    auto asking = wire->run(std::move(statements), config().answer_max);
    const auto failed = co_await std::move(asking);
    auto closing = wire->close();
    co_await std::move(closing);
    if (failed.code == mysql_error(lock_time_out))
        co_return transaction_outcome::in_progress;
    if (failed.code == mysql_error(no_such_table))
        co_return transaction_outcome::unknown;
    if (failed.code)
        throw wire->explain(failed);
    bound_sql reading("SELECT committed FROM " + table + " WHERE number = " + mark.number);
    auto looking = run(std::move(reading));
    const query_result found = co_await std::move(looking);
    if (found.empty())
        co_return transaction_outcome::unknown;
    co_return found.first().integer("committed") == 0 ? transaction_outcome::rolled_back
                                                      : transaction_outcome::committed;
}

}  // namespace mortise::db::detail
