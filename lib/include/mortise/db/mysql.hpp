// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_MYSQL_HPP
#define MORTISE_DB_MYSQL_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/detail/transaction_body.hpp"
#include "mortise/db/mysql_config.hpp"
#include "mortise/db/mysql_connection.hpp"
#include "mortise/db/mysql_error.hpp"
#include "mortise/db/mysql_stats.hpp"
#include "mortise/db/transaction_mark.hpp"
#include "mortise/db/transaction_options.hpp"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace mortise::db {

namespace detail {
class mysql_session;
void run_mysql_transaction(
    std::shared_ptr<mysql_session> session,
    transaction_options options,
    std::shared_ptr<transaction_body<mysql_connection>> body
);
}  // namespace detail

/// A session with a MariaDB or MySQL server for coroutines: a pool of connections on which closures
/// run in transactions. No thread waits for the server.
///
/// docs/db.md states its promises.
///
/// @par Threads      All members: any.
/// @par Lifetimes    The destructor aborts transactions that wait for a connection; running ones
///                   go on. The session ends with the context of its executor, too. A forked child
///                   must not use it.
class mysql {
public:
    using executor_type = asio::any_io_executor;

    /// Opens nothing yet: the first transaction connects.
    /// @throws error `bad_config`
    mysql(executor_type executor, mysql_config config);
    mysql(mysql&&) noexcept;
    mysql& operator=(mysql&&) noexcept;
    ~mysql();

    executor_type get_executor() const noexcept;

    /// Runs `work(mysql_connection&)`, which gives an `asio::awaitable<T>`, in a transaction, and
    /// completes when that is committed. An exception of the closure undoes the transaction.
    ///
    /// The closure runs once, unless `options.attempts_max` says that it may be repeated: then it
    /// runs again, after a pause, if the server has undone the transaction because of a deadlock, a
    /// lock time-out or a changed snapshot.
    ///
    /// @par Completion   `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` if `T` is
    ///                   void; `co_await` throws. `T` is default constructible.
    /// @par Errors       the closure's exception, unchanged; `lost_commit` (`commit_unknown`); else
    ///                   `error` with a code of `mysql_category`, or of `mortise::errc`:
    ///                   `no_connection_free`, `store_unavailable`, `untrusted_server`,
    ///                   `rolled_back` (the closure hid that the server had undone its work);
    ///                   `operation_aborted` (cancelled, or stopped).
    /// @par Cancellation terminal, partial, total, all alike: while the transaction waits for a
    ///                   connection, nothing was done; later the closure gets the signal as
    ///                   `terminal`, and the transaction is rolled back, even if the closure
    ///                   succeeds. A signal that comes while the commit is under way has no effect.
    /// @par Threads      Any. The closure runs on the handler's executor, which must be a strand,
    ///                   or its context have one thread. Completes by post, never from inside.
    /// @par Lifetimes    `work` is copied or moved in. g++ 12 refuses a temporary lambda that owns
    ///                   something if the token is one to await (docs/coroutine-traps.md).
    /// @par Cost         Two round trips besides those of the closure.
    template <class Work, class Token = asio::deferred_t>
        requires std::invocable < std::decay_t<Work>
    &, mysql_connection& >
           auto async_run(Work&& work, transaction_options options = {}, Token&& token = Token{}) {
        MORTISE_ASSERT(session_ && options.attempts_max > 0);
        const auto begin = [&] {
            using body = detail::typed_transaction_body<mysql_connection, std::decay_t<Work>>;
            return coro::detail::async_start<typename body::signature>(
                get_executor(),
                std::forward<Token>(token),
                [](typename body::completion done,
                   std::shared_ptr<detail::mysql_session> session,
                   transaction_options how,
                   std::decay_t<Work> todo) {
                    detail::run_mysql_transaction(
                        std::move(session),
                        how,
                        std::make_shared<body>(std::move(done), std::move(todo))
                    );
                },
                session_,
                options,
                std::forward<Work>(work)
            );
        };
        coro::detail::refuse_owning_work<Work, decltype(begin())>();
        return begin();
    }

    /// Runs one statement by itself, which is committed when this completes.
    ///
    /// All else as for `mysql_connection::async_query`, except that statements that define
    /// something are allowed, and: `outcome_unknown` if the connection ended before the answer.
    template <class Token = asio::deferred_t>
    auto async_query(bound_sql statement, Token&& token = Token{}) {
        MORTISE_ASSERT(session_);
        return coro::detail::async_start<void(std::exception_ptr, query_result)>(
            get_executor(),
            std::forward<Token>(token),
            &mysql::start_query,
            session_,
            std::move(statement)
        );
    }

    /// `co_await shop.query("SELECT left FROM stock WHERE id = ?", id)`
    template <bindable_value... Values>
    auto query(std::string text, const Values&... values) {
        return async_query(bound_sql(std::move(text), values...));
    }

    /// Asks what became of a transaction whose commit was not answered (`lost_commit::mark`). If it
    /// was not committed, it cannot be committed later, either.
    ///
    /// @par Completion   `void(std::exception_ptr, transaction_outcome)`
    /// @par Errors       as for `async_query`; `bad_config` without an `outcome_table`.
    /// @par Cancellation terminal, partial, total, all alike.
    /// @par Cost         A connection, four round trips, a second if the transaction is open still.
    template <class Token = asio::deferred_t>
    auto async_outcome(transaction_mark mark, Token&& token = Token{}) {
        MORTISE_ASSERT(session_);
        return coro::detail::async_start<void(std::exception_ptr, transaction_outcome)>(
            get_executor(),
            std::forward<Token>(token),
            &mysql::start_outcome,
            session_,
            std::move(mark)
        );
    }

    /// Takes no more work, aborts what waits for a connection, lets running transactions end, and
    /// closes all connections.
    ///
    /// @par Completion   `void(error_code)`, when no transaction runs.
    /// @par Errors       `operation_aborted` if the signal came first.
    /// @par Cancellation terminal, partial, total, all alike: only the wait ends.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        MORTISE_ASSERT(session_);
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &mysql::start_stop, session_
        );
    }

    mysql_stats stats() const;

private:
    static void start_query(
        coro::detail::completion<void(std::exception_ptr, query_result)> done,
        std::shared_ptr<detail::mysql_session> session,
        bound_sql statement
    );
    static void start_outcome(
        coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
        std::shared_ptr<detail::mysql_session> session,
        transaction_mark mark
    );
    static void start_stop(
        coro::detail::completion<void(error_code)> done,
        std::shared_ptr<detail::mysql_session> session
    );

    std::shared_ptr<detail::mysql_session> session_;
};

}  // namespace mortise::db

#endif
