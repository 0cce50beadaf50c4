// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LOCK_WATCH_COMMAND_HPP
#define MORTISE_TOOLS_LOCK_WATCH_COMMAND_HPP

#include "common/settings.hpp"
#include "lock/watch_output.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/lock_observer.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>

namespace mortise::tool {

/// Tells when to look at a store again. For each look call `begin`, look, then `next`: a change
/// during a look is then seen by the next look.
///
/// The feed also observes its client's sessions. Before the first session is open the store does
/// not know of the watch. Between two sessions nobody reports a change.
///
/// @par Threads   One at a time; the client's context must have one thread.
/// @par Lifetimes Create the feed before its client, and name it in `client_config::observer`.
class change_feed final : public lock_observer {
public:
    explicit change_feed(asio::any_io_executor executor);
    ~change_feed();

    /// Forgets the changes so far and begins to wait for the next one.
    void begin(lock_client& locks);

    /// Waits until something changed, or may have changed, since the last `begin`.
    /// @throws system_error with the code of `lock_client::async_watch`, or `operation_aborted`.
    asio::awaitable<void> next();

    /// Wakes `next` as if something had changed.
    void poke();

    void on_event(const lock_event& event) noexcept override;

private:
    struct state;

    std::shared_ptr<state> state_;
};

/// The least time between two looks.
inline constexpr std::chrono::milliseconds look_gap{100};

/// `mortise watch`: shows the locks until a signal ends it. @return the exit code.
/// @throws failure, or what the library throws.
int watch_locks(const global_settings& global, const watch_settings& settings);

/// The objects that a look needs. All must outlive the watching.
struct watch_scene {
    lock_client& locks;
    change_feed& feed;
    coro::time_source& time;
    watch_output& output;
};

/// Shows the locks whose names begin with the prefix, now and after each change, until it is
/// cancelled. Changes that come faster than `look_gap` are shown together; the last one is always
/// shown.
asio::awaitable<int>
follow_locks(watch_scene scene, const global_settings& global, const watch_settings& settings);

}  // namespace mortise::tool

#endif
