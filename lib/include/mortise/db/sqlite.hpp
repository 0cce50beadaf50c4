// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_SQLITE_HPP
#define MORTISE_DB_SQLITE_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/db/connection.hpp"
#include "mortise/db/detail/session_job.hpp"
#include "mortise/db/durability.hpp"
#include "mortise/db/sqlite_config.hpp"
#include "mortise/db/sqlite_error.hpp"
#include "mortise/db/sqlite_stats.hpp"

#include <concepts>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

namespace mortise::db {

namespace detail {
class sqlite_optimistic_run;
}

/// A session with an SQLite database for coroutines: closures run on a thread of its own, and all
/// that were queued when the last commit returned share the next one.
///
/// docs/db.md states its promises, and what ends a session.
///
/// @par Threads      All members: any.
/// @par Lifetimes    The destructor stops the session, waits at most `grace` for closures that run,
///                   and closes the files, which is I/O; `async_stop` does that beside the event
///                   loop. The session ends with the context of its executor, too. A forked child
///                   must not use it.
class sqlite {
public:
    using executor_type = asio::any_io_executor;

    /// Opens the database, which is I/O: SQLite may have to repair it after a crash. Several
    /// sessions may open or make the same database at the same time.
    /// @throws error if it cannot be opened, or does not accept a setting that is needed;
    ///         `database_busy` if another connection held it for `busy_max`.
    sqlite(executor_type executor, sqlite_config config);
    sqlite(sqlite&&) noexcept;
    sqlite& operator=(sqlite&&) noexcept;
    ~sqlite();

    executor_type get_executor() const noexcept;
    const std::filesystem::path& path() const noexcept;

    /// Runs `work(connection&)` in the next transaction and completes when that is committed.
    ///
    /// Closures of one transaction do not harm each other: each has a savepoint of its own. An
    /// exception of a closure, or an error in the `result` that it returns, rolls back that closure
    /// alone. A closure must not begin or end transactions (savepoints of its own are allowed), nor
    /// attach databases, nor change the session's pragmas. A closure runs at most once: nothing is
    /// retried.
    ///
    /// @par Completion   `void(error_code, T)` where `work` returns `T` or `result<T>`;
    ///                   `void(error_code)` if `T` is void.
    /// @par Errors       That of the closure, as in `coro::worker`; of `mortise::errc`:
    ///                   `database_busy`, `rolled_back`, `transaction_control`, `commit_unknown`,
    ///                   `poisoned`; `coro::errc::queue_full`; `operation_aborted` (cancelled while
    ///                   queued, or stopped); and codes of `sqlite_category`.
    /// @par Cancellation terminal, partial, total, all alike: while queued, the closure is removed
    ///                   and destroyed unrun. Once it runs, a signal has no effect.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    /// @par Lifetimes    `work` is copied or moved in, and destroyed before the handler is called.
    ///                   g++ 12 refuses a temporary lambda that owns something if the token is one
    ///                   to await (docs/coroutine-traps.md).
    /// @par Cost         One allocation, two switches between threads, a part of a commit.
    template <class Work, class Token = asio::deferred_t>
        requires std::invocable < std::decay_t<Work>
    &, connection& >
           auto
           async_run(Work&& work, durability how = durability::force, Token&& token = Token{}) {
        return start<detail::session_side::write>(
            std::forward<Work>(work), how, std::forward<Token>(token)
        );
    }

    /// The same with `durability::force`, for who wants another token: `as_tuple`, say, for codes
    /// instead of exceptions.
    template <class Work, class Token>
        requires std::invocable < std::decay_t<Work>
    &, connection& >
           &&(!std::convertible_to<Token, durability>)auto async_run(Work&& work, Token&& token) {
        return async_run(std::forward<Work>(work), durability::force, std::forward<Token>(token));
    }

    /// Runs `work(connection&)` on a second connection, which can only read, in one snapshot that
    /// has everything that was committed before the call. It waits for no commit.
    ///
    /// All else as for `async_run`; a closure that writes gets `SQLITE_READONLY`.
    template <class Work, class Token = asio::deferred_t>
        requires std::invocable < std::decay_t<Work>
    &, connection& > auto async_read(Work&& work, Token&& token = Token{}) {
        return start<detail::session_side::read>(
            std::forward<Work>(work), durability::lazy, std::forward<Token>(token)
        );
    }

    /// Takes no more work, completes queued work with `operation_aborted`, lets the running
    /// closures end, and closes the files.
    ///
    /// @par Completion   `void(error_code)`, when the files are closed.
    /// @par Errors       `operation_aborted` if the signal came first.
    /// @par Cancellation terminal, partial: only the wait ends; the session is stopped, and its
    ///                   files are closed by its destructor.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside.
    template <class Token = asio::deferred_t>
    auto async_stop(Token&& token = Token{}) {
        MORTISE_ASSERT(session_);
        return coro::detail::async_start<void(error_code)>(
            get_executor(), std::forward<Token>(token), &sqlite::start_stop, session_
        );
    }

    sqlite_stats stats() const noexcept;
    /// Whether a commit failed: all work now ends with `errc::poisoned`. Open a new session.
    bool poisoned() const noexcept;

private:
    friend class detail::sqlite_optimistic_run;

    template <detail::session_side Side, class Work, class Token>
    auto start(Work&& work, durability how, Token&& token) {
        MORTISE_ASSERT(session_);
        const auto begin = [&] {
            std::decay_t<Work> todo(std::forward<Work>(work));
            return detail::start_work(
                session_, Side, std::move(todo), how, std::forward<Token>(token)
            );
        };
        coro::detail::refuse_owning_work<Work, decltype(begin())>();
        return begin();
    }

    static void start_stop(
        coro::detail::completion<void(error_code)> done,
        std::shared_ptr<detail::sqlite_session> session
    );

    std::shared_ptr<detail::sqlite_session> session_;
};

}  // namespace mortise::db

#endif
