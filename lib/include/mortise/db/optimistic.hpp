// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_OPTIMISTIC_HPP
#define MORTISE_DB_OPTIMISTIC_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/db/detail/sql_runner.hpp"
#include "mortise/db/durability.hpp"
#include "mortise/db/row.hpp"
#include "mortise/db/versioned_row.hpp"
#include "mortise/detail/defaults.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace mortise::db {

/// The settings of `optimistic_update`.
struct optimistic_options {
    std::uint32_t attempts_max = 16;     ///< How often the body may run; at least 1.
    durability how = durability::force;  ///< On SQLite; a server commits as it is set up.
    coro::backoff_options pause{std::chrono::milliseconds(1), std::chrono::milliseconds(100)};
};
static_assert(std::is_trivially_destructible_v<optimistic_options>, "docs/compilers.md, G1");

namespace detail {

/// One `optimistic_update`, without its body: reads, compares and sets, pauses.
class optimistic_run {
public:
    optimistic_run(const optimistic_run&) = delete;
    optimistic_run& operator=(const optimistic_run&) = delete;
    virtual ~optimistic_run() = default;

    asio::awaitable<row> read();
    /// @return false if somebody else changed the row first.
    asio::awaitable<bool> write(row draft);
    /// Pauses before the next attempt. @throws error `contended` if none is left.
    asio::awaitable<void> pause();

protected:
    optimistic_run(
        sql_dialect dialect, versioned_row target, optimistic_options options, std::uint64_t seed
    );

    const optimistic_options& options() const noexcept { return options_; }

private:
    // Each runs one statement in a transaction of its own.
    virtual asio::awaitable<query_result> look(bound_sql statement) = 0;
    virtual asio::awaitable<query_result> change(bound_sql statement) = 0;
    /// The time to pause in, after an attempt that came too late.
    virtual coro::time_source& note_conflict() = 0;

    bound_sql update_of(const row& draft) const;

    sql_dialect dialect_;
    versioned_row target_;
    optimistic_options options_;
    coro::backoff backoff_;
    std::int64_t version_ = 0;
};

template <pooled_session Session>
class server_optimistic_run final : public optimistic_run {
public:
    server_optimistic_run(Session& session, versioned_row target, optimistic_options options)
        : optimistic_run(
              dialect_of<Session>::value,
              std::move(target),
              options,
              mortise::detail::seed_or_random(0)
          ),
          session_(session) {}

private:
    asio::awaitable<query_result> look(bound_sql statement) override {
        const transaction_options reading{.read_only = true, .traced = false};
        return run_in_transaction(session_, reading, one_statement(std::move(statement)));
    }
    // One statement that compares is as good as any isolation, and has fewer conflicts.
    asio::awaitable<query_result> change(bound_sql statement) override {
        transaction_options writing{.attempts_max = options().attempts_max};
        if (dialect_of<Session>::value == sql_dialect::postgres)
            writing.level = isolation::read_committed;
        return run_in_transaction(session_, writing, one_statement(std::move(statement)));
    }
    coro::time_source& note_conflict() override {
        if (!time_)
            time_ = mortise::detail::make_real_time(session_.get_executor());
        return *time_;
    }

    Session& session_;
    std::shared_ptr<coro::time_source> time_;
};

/// Defined in mortise::sqlite.
std::shared_ptr<optimistic_run>
start_optimistic(const sqlite& session, versioned_row target, optimistic_options options);

template <pooled_session Session>
std::shared_ptr<optimistic_run>
start_optimistic(Session& session, versioned_row target, optimistic_options options) {
    return std::make_shared<server_optimistic_run<Session>>(session, std::move(target), options);
}

template <class T, class Body>
asio::awaitable<T> run_optimistically(std::shared_ptr<optimistic_run> run, Body body) {
    for (;;) {
        row draft = co_await run->read();
        if constexpr (std::is_void_v<T>) {
            co_await body(draft);
            if (co_await run->write(std::move(draft)))
                co_return;
        } else {
            T value = co_await body(draft);
            if (co_await run->write(std::move(draft)))
                co_return value;
        }
        co_await run->pause();
    }
}

}  // namespace detail

/// Changes one row without locking it: reads it, lets `body(row&)` compute the change, and writes
/// that if the row's version is still the one that was read; else it begins again after a pause.
///
/// `session` is a `db::sqlite`, a `db::postgres` or a `db::mysql`. `body` gives an
/// `asio::awaitable<T>` and may wait for other things meanwhile: no transaction is open. **It runs
/// once for each attempt**, so it must only compute; other effects belong after the success.
/// Columns that it changes with `row::set` are written together with the version; if it sets
/// nothing, nothing is written. All columns of the row are read.
///
/// @par Completion   the result of the body in the attempt that was written.
/// @par Errors       throws `error`: `row_missing`, `contended`, `value_refused` (no name of a
///                   table or column); the codes of the session's `async_run`, and of SQLite's
///                   `async_read`; what the body throws, unchanged, and then nothing is written.
/// @par Cancellation as the coroutine accepts it: between the steps, in the body, and during work
///                   at a server; on SQLite while work is queued, and there work that runs goes on:
///                   after a cancellation that came during the write, the row may be written.
/// @par Threads      The caller's executor must be a strand, or its context have one thread.
/// @par Lifetimes    `session` must live when it starts, and at a server as long as it runs.
///                   `body` is copied or moved in. g++ 12 refuses a temporary lambda that owns
///                   something (docs/coroutine-traps.md).
/// @par Cost         A transaction that reads and one that writes for each attempt.
template <class Session, class Body>
    requires detail::sql_session<std::remove_const_t<Session>> && std::invocable<Body&, row&>
auto optimistic_update(
    Session& session, versioned_row target, optimistic_options options, Body&& body
) -> std::invoke_result_t<Body&, row&> {
    using returned = std::invoke_result_t<Body&, row&>;
    coro::detail::refuse_owning_temporary<Body, returned>();
    using value = typename returned::value_type;
    return detail::run_optimistically<value, std::decay_t<Body>>(
        detail::start_optimistic(session, std::move(target), options), std::forward<Body>(body)
    );
}

}  // namespace mortise::db

#endif
