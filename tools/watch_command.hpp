// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_WATCH_COMMAND_HPP
#define MORTISE_TOOLS_WATCH_COMMAND_HPP

#include "change_feed.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/lock_client.hpp"
#include "settings.hpp"
#include "watch_output.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>

namespace mortise::tool {

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
