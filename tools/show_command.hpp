// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_SHOW_COMMAND_HPP
#define MORTISE_TOOLS_SHOW_COMMAND_HPP

#include "mortise/lock_client.hpp"
#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace mortise::tool {

/// `mortise show`: one lock in full. @return the exit code.
/// @throws failure, or what the library throws.
int show_lock(const global_settings& global, const show_settings& settings);

/// The same for a client that exists already.
asio::awaitable<int> show_lock(
    lock_client& locks,
    const global_settings& global,
    const show_settings& settings,
    std::ostream& out
);

}  // namespace mortise::tool

#endif
