// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_POSTGRES_HPP
#define MORTISE_DB_POSTGRES_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/db/detail/transaction_body.hpp"
#include "mortise/db/postgres_config.hpp"
#include "mortise/db/postgres_connection.hpp"
#include "mortise/db/postgres_error.hpp"
#include "mortise/db/postgres_stats.hpp"
#include "mortise/db/transaction_mark.hpp"
#include "mortise/db/transaction_options.hpp"

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace mortise::db {

namespace detail {
class postgres_core;
using postgres_body = transaction_body<postgres_connection>;

void start_transaction(
    const std::shared_ptr<postgres_core>& core,
    transaction_options options,
    std::shared_ptr<postgres_body> body
);

/// Looks an outcome up. A class, because g++ 12 destroys closures that own something twice.
class outcome_look {
public:
    explicit outcome_look(transaction_mark of) : mark_(std::move(of)) {}
    asio::awaitable<transaction_outcome> operator()(postgres_connection& on) const;

private:
    transaction_mark mark_;
};
}  // namespace detail

/// A session with a PostgreSQL server for coroutines: a pool of connections, which are opened when
/// they are needed. Nothing of it blocks the event loop.
///
/// docs/postgres.md states its promises, and what goes wrong.
///
/// @par Threads      All members: any. Closures run on the executor of their caller, which must be
///                   a strand, or its context have one thread.
/// @par Lifetimes    The destructor closes all connections at once: the server rolls back what is
///                   open, and closures get `store_unavailable`. The context of a caller must live
///                   as long as its transactions, or as the session. A forked child must not use
///                   the session.
class postgres {
public:
    using executor_type = asio::any_io_executor;

    /// Opens nothing yet.
    /// @throws error `bad_config` for settings outside of their limits.
    postgres(executor_type executor, postgres_config config);
    postgres(postgres&&) noexcept;
    postgres& operator=(postgres&&) noexcept;
    ~postgres();

    executor_type get_executor() const noexcept;

    /// Runs `work(postgres_connection&)`, which gives an `asio::awaitable<T>`, in a transaction of
    /// its own, and completes when that is committed. An exception of the closure rolls it back.
    ///
    /// The closure runs once, unless `attempts_max` says that it can be repeated. It must have
    /// awaited its statements when it ends.
    ///
    /// @par Completion   `void(std::exception_ptr, T)`, `void(std::exception_ptr)` if `T` is void;
    ///                   `co_await` throws. `T` has a default constructor.
    /// @par Errors       What the closure throws, unchanged. Else `error` with the server's words:
    ///                   a code of `postgres_category`, of a commit that failed or of a statement
    ///                   whose failure the closure ignored; of `mortise::errc`:
    ///                   `no_connection_free`, `store_unavailable`, `access_denied`,
    ///                   `untrusted_server`, `wrong_server`, `bad_config`; `commit_unknown`, which
    ///                   is a `lost_commit`; `coro::errc::queue_full`; `operation_aborted`
    ///                   (cancelled, or stopped).
    /// @par Cancellation terminal, partial, total, all alike: a wait for a connection ends, a
    ///                   running closure gets the signal, and its running statement is cancelled at
    ///                   the server; then the transaction is rolled back. A coroutine lets only
    ///                   `terminal` through, unless it says otherwise. A commit goes on; it is
    ///                   awaited for `cancel_max`, and then unknown.
    /// @par Threads      Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    `work` is copied or moved in, and destroyed before the handler is called.
    ///                   g++ 12 refuses a temporary lambda that owns something if the token is one
    ///                   to await (docs/coroutine-traps.md).
    /// @par Cost         A round trip for each statement and one for the commit; if the transaction
    ///                   may write and is `traced`, one more.
    template <class Work, class Token = asio::deferred_t>
        requires std::invocable < std::decay_t<Work>
    &, postgres_connection& >
           auto async_run(Work&& work, transaction_options options, Token&& token = Token{}) {
        using kept = std::decay_t<Work>;
        using body = detail::typed_transaction_body<postgres_connection, kept>;
        MORTISE_ASSERT(core_ && options.attempts_max >= 1);
        const auto begin = [&] {
            return coro::detail::async_start<typename body::signature>(
                get_executor(),
                std::forward<Token>(token),
                [](typename body::completion done,
                   const std::shared_ptr<detail::postgres_core>& core,
                   transaction_options with,
                   kept todo) {
                    detail::start_transaction(
                        core, with, std::make_shared<body>(std::move(done), std::move(todo))
                    );
                },
                core_,
                options,
                std::forward<Work>(work)
            );
        };
        coro::detail::refuse_owning_work<Work, decltype(begin())>();
        return begin();
    }

    /// The same with the usual options.
    template <class Work>
        requires std::invocable < std::decay_t<Work>
    &, postgres_connection& > auto async_run(Work&& work) {
        return async_run(std::forward<Work>(work), transaction_options());
    }

    /// Looks up what became of a transaction whose commit was not answered (`lost_commit`).
    ///
    /// @par Completion   `void(std::exception_ptr, transaction_outcome)`
    /// @par Errors       As `async_run`.
    /// @par Cancellation As `async_run`.
    template <class Token = asio::deferred_t>
    auto async_outcome(transaction_mark of, Token&& token = Token{}) {
        detail::outcome_look look(std::move(of));
        transaction_options options;
        options.read_only = true;
        return async_run(std::move(look), options, std::forward<Token>(token));
    }

    /// Takes no more transactions, completes those that wait for a connection with
    /// `operation_aborted`, lets the running ones end, and closes all connections.
    ///
    /// @par Completion   `void(error_code)`, when all connections are closed.
    /// @par Cancellation None: to bound the wait, cancel the transactions, or destroy the session.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        MORTISE_ASSERT(core_);
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &postgres::start_stop, core_
        );
    }

    postgres_stats stats() const noexcept;

private:
    static void start_stop(
        coro::detail::completion<void(error_code)> done, std::shared_ptr<detail::postgres_core> core
    );

    std::shared_ptr<detail::postgres_core> core_;
};

}  // namespace mortise::db

#endif
