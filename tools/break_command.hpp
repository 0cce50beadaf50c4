// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BREAK_COMMAND_HPP
#define MORTISE_TOOLS_BREAK_COMMAND_HPP

#include "mortise/lock_client.hpp"
#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace mortise::tool {

/// `mortise break`: takes a lock from its holder. @return the exit code.
/// @throws failure, or what the library throws.
int break_lock(const global_settings& global, const break_settings& settings);

/// The same for a client that exists already.
asio::awaitable<int> break_lock(
    lock_client& locks,
    const global_settings& global,
    const break_settings& settings,
    std::ostream& out
);

/// Finds the grant to break: the only one, or the one with the given token or slot.
/// @throws failure if nobody holds the lock, if another grant holds it, or if the choice is
/// ambiguous.
fencing_token choose_grant(const lock_view& lock, const break_settings& settings);

}  // namespace mortise::tool

#endif
