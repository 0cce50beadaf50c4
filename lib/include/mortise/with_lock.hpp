// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_WITH_LOCK_HPP
#define MORTISE_WITH_LOCK_HPP

#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/detail/guarded_run.hpp"
#include "mortise/lease.hpp"
#include "mortise/lease_set.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/options.hpp"

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mortise {

/// Acquires `name`, runs `body(lease)` and releases: the way to hold a lock.
///
/// `body` is called with `const lease&` and gives an `asio::awaitable<T>`; it runs on the caller's
/// executor. When the lease is about to be lost (`stop_margin` before the end of its window, or
/// when the store says so) the body is stopped by a cancellation signal of type `terminal`;
/// cancelling the caller stops it likewise. `with_lock` always waits for the body to end, then
/// releases, and waits for that, too.
///
/// @par Completion   the result of the body.
/// @par Errors       throws `error` (a `system_error`): `busy` and the other codes of the acquire;
///                   `lease_lost` or `lease_expired` if the lock was not surely held until the
///                   body's end, *even if the body succeeded*; else the body's own exception,
///                   unchanged. A release that was not acknowledged is no error here: it goes on in
///                   the background and is counted.
/// @par Cancellation before the grant as for `async_acquire`, afterwards forwarded to the body; the
///                   release is not cancelled. A coroutine lets only `terminal` through, unless it
///                   calls `asio::this_coro::reset_cancellation_state`; so does the body.
/// @par Threads      The caller's executor must be a strand, or its context have one thread.
/// @par Lifetimes    `client` outlives the call. `body` is copied or moved in. g++ 12 refuses a
///                   temporary lambda that owns something (docs/coroutine-traps.md).
/// @par Cost         As an acquire and a release.
template <class Body>
    requires std::invocable<Body&, const lease&>
auto with_lock(lock_client& client, std::string name, lock_options options, Body&& body)
    -> std::invoke_result_t<Body&, const lease&>;

/// The same for several locks: acquires all (`lock_client::async_acquire_all`), runs
/// `body(lease_set)` and releases all. The body is stopped when one of them is about to be lost.
/// All else is as above; there is one error more, `names_missing`.
///
/// With g++ 12, give the vector a name before the `co_await` expression: a list in braces does not
/// compile there (docs/compilers.md).
template <class Body>
    requires std::invocable<Body&, const lease_set&>
auto with_lock(
    lock_client& client, std::vector<std::string> names, lock_options options, Body&& body
) -> std::invoke_result_t<Body&, const lease_set&>;

}  // namespace mortise

#include "mortise/impl/with_lock.hpp"

#endif
