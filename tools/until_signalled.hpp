// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_UNTIL_SIGNALLED_HPP
#define MORTISE_TOOLS_UNTIL_SIGNALLED_HPP

#include "signal_source.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace mortise::tool {

/// Whether the signal is one of those that ask a program to end.
bool ends_a_program(int signal) noexcept;

/// Runs `body` to its end; HUP, INT, QUIT and TERM cancel it, and are waited for no longer then. So
/// a command lets go of what it has at the store before it ends. `on_other` hears of the other
/// signals; it may be empty.
/// @return what the body returns, or 128 + N if signal N cancelled it. @throws what the body throws
/// if no signal came.
asio::awaitable<int> until_signalled(
    signal_source& signals, asio::awaitable<int> body, const std::function<void(int)>& on_other
);

}  // namespace mortise::tool

#endif
