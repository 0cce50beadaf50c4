// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SERVER_DATABASE_HPP
#define MORTISE_DB_SERVER_DATABASE_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/db/bound_sql.hpp"
#include "mortise/db/detail/transaction_body.hpp"
#include "mortise/db/prepared_transaction.hpp"
#include "mortise/db/query_result.hpp"
#include "mortise/db/server_stats.hpp"
#include "mortise/db/transaction_mark.hpp"
#include "mortise/db/transaction_options.hpp"

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace mortise::db {

namespace detail {
class server_session;

void start_transaction(
    const std::shared_ptr<server_session>& session,
    transaction_options options,
    std::shared_ptr<transaction_body> body
);

/// The members of `server_database` that are no templates.
class server_handle {
public:
    using executor_type = asio::any_io_executor;

    server_handle(server_handle&&) noexcept;
    server_handle& operator=(server_handle&&) noexcept;
    ~server_handle();

    executor_type get_executor() const noexcept;
    server_stats stats() const noexcept;

protected:
    explicit server_handle(std::shared_ptr<server_session> session);

    const std::shared_ptr<server_session>& session() const noexcept {
        MORTISE_ASSERT(session_);
        return session_;
    }
    static void start_query(
        coro::detail::completion<void(std::exception_ptr, query_result)> done,
        std::shared_ptr<server_session> session,
        bound_sql statement
    );
    static void start_outcome(
        coro::detail::completion<void(std::exception_ptr, transaction_outcome)> done,
        std::shared_ptr<server_session> session,
        transaction_mark mark
    );
    static void start_finish(
        coro::detail::completion<void(std::exception_ptr, bool)> done,
        std::shared_ptr<server_session> session,
        prepared_name name,
        prepared_end how
    );
    static void start_stop(
        coro::detail::completion<void(error_code)> done, std::shared_ptr<server_session> session
    );

private:
    std::shared_ptr<server_session> session_;
};
}  // namespace detail

/// A session with a database server for coroutines: a pool of connections, which are opened when
/// they are needed. Nothing of it blocks the event loop. `postgres` and `mysql` are such.
///
/// @par Threads      All members: any. Closures run on the executor of their caller, which must be
///                   a strand, or its context have one thread.
/// @par Lifetimes    The destructor closes all connections at once: the server rolls back what is
///                   open, and closures get `store_unavailable`. The session ends with the context
///                   of its executor, too. The context of a caller may end at any time: its
///                   closures and handlers end with it, its statements are cancelled, and its
///                   transactions are rolled back, except for one whose commit is under way. A
///                   forked child must not use the session.
template <class Connection>
class server_database : public detail::server_handle {
public:
    /// Runs `work(Connection&)`, which gives an `asio::awaitable<T>`, in a transaction of its own,
    /// and completes when that is committed. An exception of the closure rolls it back.
    ///
    /// The closure runs once, unless `attempts_max` says that it can be repeated: then it runs
    /// again, after a pause, if the server has undone the transaction for the sake of another one.
    /// It must have awaited its statements when it ends.
    ///
    /// @par Completion   `void(std::exception_ptr, T)`, `void(std::exception_ptr)` if `T` is void;
    ///                   `co_await` throws. `T` has a default constructor.
    /// @par Errors       What the closure throws, unchanged. Else `error` with the server's words:
    ///                   a code of the server's category, of a commit that failed or of a statement
    ///                   whose failure the closure ignored; of `mortise::errc`:
    ///                   `no_connection_free`, `store_unavailable`, `access_denied`,
    ///                   `untrusted_server`, `wrong_server`, `bad_config`, `rolled_back` (the
    ///                   closure hid that the server had undone its work), `transaction_control`;
    ///                   `commit_unknown`, which is a `lost_commit`; `coro::errc::queue_full`;
    ///                   `operation_aborted` (cancelled, or stopped).
    /// @par Cancellation terminal, partial, total, all alike: a wait for a connection ends, a
    ///                   running closure gets the signal as `terminal`, and its statement is
    ///                   cancelled at the server; then the transaction is rolled back, even if the
    ///                   closure succeeds. A commit goes on; it is awaited for `cancel_max`, and
    ///                   then unknown.
    /// @par Threads      Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    `work` is copied or moved in, and destroyed before the handler is called.
    ///                   g++ 12 refuses a temporary lambda that owns something if the token is one
    ///                   to await (docs/coroutine-traps.md).
    /// @par Cost         A round trip for each statement and one for the commit; at PostgreSQL, one
    ///                   more if the transaction may write and is `traced`; at MariaDB and MySQL,
    ///                   one more to begin.
    template <class Work, class Token = asio::deferred_t>
        requires std::invocable < std::decay_t<Work>
    &, Connection& >
           auto async_run(Work&& work, transaction_options options = {}, Token&& token = Token{}) {
        using kept = std::decay_t<Work>;
        using body = detail::typed_transaction_body<Connection, kept>;
        MORTISE_ASSERT(options.attempts_max >= 1);
        const auto begin = [&] {
            return coro::detail::async_start<typename body::signature>(
                get_executor(),
                std::forward<Token>(token),
                [](typename body::completion done,
                   const std::shared_ptr<detail::server_session>& session,
                   transaction_options with,
                   kept todo) {
                    detail::start_transaction(
                        session, with, std::make_shared<body>(std::move(done), std::move(todo))
                    );
                },
                session(),
                options,
                std::forward<Work>(work)
            );
        };
        coro::detail::refuse_owning_work<Work, decltype(begin())>();
        return begin();
    }

    /// Runs `work(Connection&)`, which gives an `asio::awaitable<bool>`, as `async_run` does. If it
    /// gives true, its transaction is prepared under this name, instead of a commit: it survives
    /// the connection, the session and the server, and keeps its locks until `async_finish` ends
    /// it. If it gives false, the transaction is committed at once.
    ///
    /// The first phase of two-phase commit. What is left prepared blocks others without a limit of
    /// time: keep a record of the name before, and make sure that somebody ends it.
    ///
    /// @par Completion   `void(std::exception_ptr, bool)`: whether it was prepared. A closure that
    ///                   has sent no statement has nothing to prepare.
    /// @par Errors       As `async_run`; `outcome_unknown` if the answer to the preparation was
    ///                   lost: roll it back by `async_finish`. A name that is taken is a failure of
    ///                   the server's (42710; XAER_DUPID, 1440).
    /// @par Cancellation As `async_run`; a preparation goes on as a commit does.
    /// @par Threads      As `async_run`.
    /// @par Lifetimes    As `async_run`. At MariaDB the connection of the transaction can do
    ///                   nothing else until `async_finish`, nor can another one end the transaction
    ///                   meanwhile: without `async_finish` it is closed after `prepared_max`.
    /// @par Cost         At PostgreSQL a round trip for the preparation, at MariaDB and MySQL one
    ///                   to begin and one for the preparation; a forced write of the server.
    template <class Work, class Token = asio::deferred_t>
        requires std::invocable < std::decay_t<Work>
    &, Connection& > auto async_prepare(
                         prepared_name name,
                         Work&& work,
                         transaction_options options = {},
                         Token&& token = Token{}
                     ) {
        using kept = std::decay_t<Work>;
        using body = detail::preparing_body<Connection, kept>;
        MORTISE_ASSERT(options.attempts_max >= 1 && !name.empty());
        const auto begin = [&] {
            return coro::detail::async_start<void(std::exception_ptr, bool)>(
                get_executor(),
                std::forward<Token>(token),
                [](typename body::completion done,
                   const std::shared_ptr<detail::server_session>& session,
                   prepared_name called,
                   transaction_options with,
                   kept todo) {
                    detail::start_transaction(
                        session,
                        with,
                        std::make_shared<body>(std::move(done), std::move(todo), std::move(called))
                    );
                },
                session(),
                std::move(name),
                options,
                std::forward<Work>(work)
            );
        };
        coro::detail::refuse_owning_work<Work, decltype(begin())>();
        return begin();
    }

    /// Ends a transaction that was prepared, by this session or by another one.
    ///
    /// @par Completion   `void(std::exception_ptr, bool)`: whether the server had it. One that it
    ///                   does not have was ended before, or is not prepared yet; at MariaDB another
    ///                   connection may hold it.
    /// @par Errors       As a statement by itself. After `outcome_unknown` ask again.
    /// @par Cancellation terminal, partial, total, all alike: a wait for a connection ends. What
    ///                   was sent goes on, and is awaited for `cancel_max`.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Cost         A round trip, and a forced write of the server.
    template <class Token = asio::deferred_t>
    auto async_finish(prepared_name name, prepared_end how, Token&& token = Token{}) {
        MORTISE_ASSERT(!name.empty());
        return coro::detail::async_start<void(std::exception_ptr, bool)>(
            get_executor(),
            std::forward<Token>(token),
            &server_handle::start_finish,
            session(),
            std::move(name),
            how
        );
    }

    /// Runs one statement by itself, which is committed when this completes. All else as for
    /// `transaction_connection::async_query`, with the errors of a wait for a connection.
    ///
    /// Statements that define something are allowed. None may begin or end a transaction.
    ///
    /// @par Errors       Also `outcome_unknown`, if the connection ended before the answer.
    template <class Token = asio::deferred_t>
    auto async_query(bound_sql statement, Token&& token = Token{}) {
        return coro::detail::async_start<void(std::exception_ptr, query_result)>(
            get_executor(),
            std::forward<Token>(token),
            &server_handle::start_query,
            session(),
            std::move(statement)
        );
    }

    /// `co_await shop.query("SELECT left FROM stock WHERE id = 7")`
    template <bindable_value... Values>
    auto query(std::string text, const Values&... values) {
        return async_query(bound_sql(std::move(text), values...));
    }

    /// Looks up what became of a transaction whose commit was not answered (`lost_commit`). One
    /// that is `rolled_back` cannot be committed later.
    ///
    /// @par Completion   `void(std::exception_ptr, transaction_outcome)`
    /// @par Errors       As `async_run`; at MariaDB and MySQL `bad_config` without an
    ///                   `outcome_table`.
    /// @par Cancellation As `async_run`.
    /// @par Cost         As a transaction; at MariaDB and MySQL on a connection that is closed
    ///                   then, and for a second if the answer is `in_progress`.
    template <class Token = asio::deferred_t>
    auto async_outcome(transaction_mark mark, Token&& token = Token{}) {
        return coro::detail::async_start<void(std::exception_ptr, transaction_outcome)>(
            get_executor(),
            std::forward<Token>(token),
            &server_handle::start_outcome,
            session(),
            std::move(mark)
        );
    }

    /// Takes no more work, completes what waits for a connection with `operation_aborted`, lets
    /// running transactions end, and closes all connections.
    ///
    /// @par Completion   `void(error_code)`, when all connections are closed.
    /// @par Errors       `operation_aborted` if a signal came first, or the session's context ends.
    /// @par Cancellation terminal, partial, total, all alike: only the wait ends. To bound it,
    ///                   cancel the transactions, or destroy the session.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &server_handle::start_stop, session()
        );
    }

protected:
    using detail::server_handle::server_handle;
};

}  // namespace mortise::db

#endif
