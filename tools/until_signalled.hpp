// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_UNTIL_SIGNALLED_HPP
#define MORTISE_TOOLS_UNTIL_SIGNALLED_HPP

#include "signal_source.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>

namespace mortise::tool {

/// Whether the signal asks a program to end: HUP, INT, QUIT or TERM.
bool ends_a_program(int signal) noexcept;

/// Runs `body` to its end. HUP, INT, QUIT and TERM cancel it; after the first of them no signal is
/// read. The command can then release what it has at the store before it ends. `on_other` gets the
/// other signals; it may be empty.
/// @return the result of `body`, or 128 + N if signal N cancelled it. @throws what `body` throws,
/// if no signal cancelled it.
asio::awaitable<int> until_signalled(
    signal_source& signals, asio::awaitable<int> body, const std::function<void(int)>& on_other
);

}  // namespace mortise::tool

#endif
