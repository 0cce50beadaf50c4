// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_SLEEP_HPP
#define MORTISE_CORO_SLEEP_HPP

#include "mortise/coro/time_source.hpp"

#include <boost/asio/awaitable.hpp>

namespace mortise::coro {

/// Sleeps for at least `span`; `duration::max()` means until cancelled.
///
/// @par Errors       Throws `system_error(operation_aborted)` when cancelled.
/// @par Cancellation Whatever types the coroutine accepts, all alike.
/// @par Lifetimes    `time` must live while it sleeps.
asio::awaitable<void> sleep_for(time_source& time, clock::duration span);

/// As `sleep_for`, until `when`; a moment that has passed still lets others run first.
asio::awaitable<void> sleep_until(time_source& time, clock::time_point when);

}  // namespace mortise::coro

#endif
