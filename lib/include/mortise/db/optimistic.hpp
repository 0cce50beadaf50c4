// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_OPTIMISTIC_HPP
#define MORTISE_DB_OPTIMISTIC_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/coro/backoff.hpp"
#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/db/durability.hpp"
#include "mortise/db/row.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/db/versioned_row.hpp"

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
    std::uint32_t attempts_max = 16;  ///< How often the body may run; at least 1.
    durability how = durability::force;
    coro::backoff_options pause{std::chrono::milliseconds(1), std::chrono::milliseconds(100)};
};
static_assert(std::is_trivially_destructible_v<optimistic_options>, "docs/compilers.md, G1");

/// One `optimistic_update`, without its body: reads, compares and sets, pauses.
class optimistic_run {
public:
    optimistic_run(const sqlite& session, versioned_row target, optimistic_options options);
    optimistic_run(const optimistic_run&) = delete;
    optimistic_run& operator=(const optimistic_run&) = delete;

    asio::awaitable<row> read();
    /// @return false if somebody else changed the row first.
    asio::awaitable<bool> write(row draft);
    /// Pauses before the next attempt. @throws error `contended` if none is left.
    asio::awaitable<void> pause();

private:
    row look(connection& db) const;
    bool compare_and_set(connection& db, const row& draft) const;

    std::shared_ptr<detail::sqlite_session> session_;
    versioned_row which_;
    optimistic_options options_;
    coro::backoff backoff_;
    std::int64_t version_ = 0;
};

namespace detail {

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
/// `body` gives an `asio::awaitable<T>` and may wait for other things meanwhile. **It runs once for
/// each attempt**, so it must only compute; other effects belong after the success. Columns that it
/// changes with `row::set` are written together with the version; if it sets nothing, nothing is
/// written. All columns of the row are read.
///
/// @par Completion   the result of the body in the attempt that was written.
/// @par Errors       throws `error`: `row_missing`, `contended`; the codes of `async_run` and
///                   `async_read`; what the body throws, unchanged, and then nothing is written.
/// @par Cancellation as the coroutine accepts it: between the steps, in the body, and while work
///                   is queued. Work that runs goes on: after a cancellation that came during the
///                   write, the row may have been written.
/// @par Threads      The caller's executor must be a strand, or its context have one thread.
/// @par Lifetimes    `session` must live when it starts. `body` is copied or moved in. g++ 12
///                   refuses a temporary lambda that owns something (docs/coroutine-traps.md).
/// @par Cost         One read and one forced write for each attempt.
template <class Body>
    requires std::invocable<Body&, row&>
auto optimistic_update(
    const sqlite& session, versioned_row target, optimistic_options options, Body&& body
) -> std::invoke_result_t<Body&, row&> {
    using returned = std::invoke_result_t<Body&, row&>;
    coro::detail::refuse_owning_temporary<Body, returned>();
    using value = typename returned::value_type;
    return detail::run_optimistically<value, std::decay_t<Body>>(
        std::make_shared<optimistic_run>(session, std::move(target), options),
        std::forward<Body>(body)
    );
}

}  // namespace mortise::db

#endif
