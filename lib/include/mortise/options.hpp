// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OPTIONS_HPP
#define MORTISE_OPTIONS_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/fwd.hpp"
#include "mortise/error.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/owner_id.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace mortise {

class lock_observer;

namespace coro {
class time_source;
}

/// Longest name of a lock, in bytes. Names are bytes, compared as bytes.
inline constexpr std::size_t name_size_max = 1024;

/// Longest duration that an option may have, except `milliseconds::max()`, which is "for ever".
inline constexpr std::chrono::milliseconds duration_max = std::chrono::hours(24 * 36'525);

/// The options of one acquire.
struct lock_options {
    /// How long to wait for the present holder, and for a server that is away; zero is a try;
    /// `milliseconds::max()` is for ever.
    std::chrono::milliseconds wait_max = std::chrono::milliseconds::max();

    /// How the lock is held: alone, together with readers, or one of some permits.
    lock_mode mode = lock_mode::exclusive();

    /// The store frees the lock after this time, even if the session lives: the classic lease
    /// without renewal. The lease ends for good a little sooner: by the time that its grant was
    /// under way, and by `client_config::clock_drift_ppm` (10 min leave 594 s).
    /// Such a grant is never passed on inside the process. At least 1 ms; not together with
    /// `linger`. `lease::async_extend` sets the end anew.
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();

    /// Keeps the grant for this time after the release if nobody waits, so that the next acquire of
    /// this process costs no request. Lingering ends at once when another process asks for the
    /// lock; a try of another process is refused once, and ends it, too.
    std::chrono::milliseconds linger{0};

    /// Reentrancy: an owner that holds the lock already gets it again at once, past the queue. The
    /// `hold_max` of such an acquire counts from then on, and ends only the inner lease. The
    /// acquire is refused with `upgrade_refused` if the lock is held in a weaker mode, with the
    /// code of `lease::check` if it is not surely held, with `outer_lease_lost` if it was lost and
    /// the owner has not let go of the lost leases yet, and with `too_many_holds` beyond
    /// `client_config::holds_max`.
    owner_id owner{};
};
static_assert(std::is_trivially_destructible_v<lock_options>, "docs/compilers.md, G1");

/// The settings of a client. The defaults suit a server with its store on the same host or network.
class client_config {
public:
    client_config() = default;  // declared: no aggregate (docs/compilers.md, G3)

    /// How long the store keeps this client's grants without a heartbeat: the longest that a lock
    /// can stay blocked after its holder's host has died. One heartbeat goes out each `ttl / 3`,
    /// whatever the number of locks. Each store has limits (`store_traits::ttl_min`, `ttl_max`).
    std::chrono::milliseconds ttl{5'000};

    /// How much the clocks of client and store may differ in rate, in parts per million of the TTL.
    /// A lease counts as held only for `ttl * (1 - drift)` after the sending of the last good
    /// heartbeat. At most 500,000.
    std::uint32_t clock_drift_ppm = 10'000;

    /// How long before the end of that window the holder is told to stop; zero means `ttl / 10`.
    std::chrono::milliseconds stop_margin{0};

    /// How long a cancelled acquire or a release waits for the store's answer before it goes on in
    /// the background.
    std::chrono::milliseconds release_budget{2'000};

    /// Coroutines of one client that want the same lock pass it on among themselves, without the
    /// store. Once another client waits, they may pass it on this many times more,
    std::uint32_t turn_handoffs_max = 16;
    /// and for at most this long; then the lock goes back to the store.
    std::chrono::milliseconds turn_time_max{20};

    /// Whether coroutines of one client pass a lock on among themselves at all.
    bool local_handoff = true;

    /// How many acquires may wait at the same time, at least 1. One of several locks counts for
    /// each lock that it asks for.
    std::size_t waiters_max = 1'000'000;

    /// How many leases of one lock an owner may have at the same time (`lock_options::owner`).
    std::size_t holds_max = 10'000;

    /// The name of this client for people who read `mortise ls`; empty: the name of the program.
    std::string label;

    /// Receives all events; null for none. Not owned.
    lock_observer* observer = nullptr;

    /// The clock and the timers; empty: `CLOCK_BOOTTIME`. Tests pass a simulated one.
    std::shared_ptr<coro::time_source> time;
};

/// The fault of this name of a lock, if any; the `async_` operations give only the code.
std::optional<error> check_name(std::string_view name);

/// The fault of these options, if any.
std::optional<error> check_options(const lock_options& options);

/// The fault of this configuration, if any, apart from the limits that a store sets.
std::optional<error> check_config(const client_config& config);

}  // namespace mortise

#endif
