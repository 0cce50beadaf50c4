// SPDX-License-Identifier: BSL-1.0
#include "mortise/db/mysql.hpp"

#include "mysql/mysql_session.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <memory>
#include <utility>

namespace mortise::db {
namespace {

// Runs a coroutine of a session on the executor of the caller, and completes with its end.
template <class T>
void spawn_for(
    coro::detail::completion<void(std::exception_ptr, T)> done,
    std::shared_ptr<detail::mysql_session> session,
    asio::awaitable<T> work
) {
    const auto executor = done.get_executor();
    const auto relay = std::make_shared<detail::signal_relay>();
    relay->listen(done.release_slot(), executor);
    const auto kept = std::make_shared<decltype(done)>(std::move(done));
    asio::co_spawn(
        executor,
        std::move(work),
        asio::bind_cancellation_slot(
            relay->slot(),
            [kept, relay, session](std::exception_ptr failure, T value) {
                kept->complete(std::move(failure), std::move(value));
            }
        )
    );
}

// Such a coroutine heeds every kind of signal.
asio::awaitable<query_result>
run_statement(std::shared_ptr<detail::mysql_session> session, bound_sql statement) {
    co_await asio::this_coro::reset_cancellation_state(
        detail::as_terminal(), detail::as_terminal()
    );
    auto running = session->run(std::move(statement));
    co_return co_await std::move(running);
}

asio::awaitable<transaction_outcome>
look_up(std::shared_ptr<detail::mysql_session> session, transaction_mark mark) {
    co_await asio::this_coro::reset_cancellation_state(
        detail::as_terminal(), detail::as_terminal()
    );
    auto looking = session->look_up(std::move(mark));
    co_return co_await std::move(looking);
}

}  // namespace

mysql::mysql(executor_type executor, mysql_config config)
    : session_(std::make_shared<detail::mysql_session>(std::move(executor), std::move(config))) {
    session_->attach();
}

mysql::mysql(mysql&&) noexcept = default;
mysql& mysql::operator=(mysql&& other) noexcept {
    mysql taken(std::move(other));
    session_.swap(taken.session_);
    return *this;
}

mysql::~mysql() {
    if (session_)
        session_->stop();
}

mysql::executor_type mysql::get_executor() const noexcept {
    MORTISE_ASSERT(session_);
    return session_->executor();
}

mysql_stats mysql::stats() const {
    MORTISE_ASSERT(session_);
    return session_->stats();
}

void mysql::start_query(
    coro::detail::completion<void(std::exception_ptr, query_result)> done,
    std::shared_ptr<detail::mysql_session> session,
    bound_sql statement
) {
    auto work = run_statement(session, std::move(statement));
    spawn_for(std::move(done), std::move(session), std::move(work));
}

void mysql::start_outcome(
    coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
    std::shared_ptr<detail::mysql_session> session,
    transaction_mark mark
) {
    auto work = look_up(session, std::move(mark));
    spawn_for(std::move(done), std::move(session), std::move(work));
}

void mysql::start_stop(
    coro::detail::completion<void(error_code)> done, std::shared_ptr<detail::mysql_session> session
) {
    session->stop();
    session->turns().wait_empty(std::move(done));
}

}  // namespace mortise::db
