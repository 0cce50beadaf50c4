// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ELECTION_HPP
#define MORTISE_ELECTION_HPP

#include "mortise/coro/backoff.hpp"
#include "mortise/lease.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/with_lock.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace mortise {

/// The settings of a candidate.
struct election_options {
    /// The pause before standing again after a loss or a failure of the store: drawn evenly up to
    /// this bound, which doubles with each failure in a row. At least 1 ms.
    std::chrono::milliseconds pause_first{100};
    /// The largest bound: at least `pause_first`, at most a year.
    std::chrono::milliseconds pause_max{5'000};
};
static_assert(std::is_trivially_destructible_v<election_options>, "docs/compilers.md, G1");

/// Leads while it can: stands for election, runs `body(lease)` as the leader, and stands again when
/// the leadership was lost.
///
/// The leader is the holder of the lock `name`. `body` is stopped when the lease is about to be
/// lost, and called anew with each election that is won; its lease's token tells one term from the
/// next, and belongs into all that the leader writes.
///
/// @par Completion   when `body` returns: it has resigned, and whoever waits next leads.
/// @par Errors       throws what `body` throws; `operation_aborted`; `client_stopped` and `forked`;
///                   and each code that is neither `condition::not_held` nor
///                   `condition::retryable`, such as `access_denied`, `store_replaced` or
///                   `unsupported`. A store that does not answer ends nothing: it stands again.
/// @throws error `bad_config` from this call if the pauses break their limits.
/// @par Cancellation as `with_lock`; nothing is held or asked for afterwards.
/// @par Threads      as `with_lock`.
/// @par Lifetimes    `client` outlives the call. `body` is copied or moved in. g++ 12 refuses a
///                   temporary lambda that owns something (docs/coroutine-traps.md).
/// @par Cost         as `with_lock`, for each term.
template <class Body>
    requires std::invocable<Body&, const lease&> asio::awaitable<void>
    lead(lock_client& client, std::string name, election_options options, Body&& body);

}  // namespace mortise

#include "mortise/impl/election.hpp"

#endif
