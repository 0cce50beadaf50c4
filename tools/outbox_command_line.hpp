// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_COMMAND_LINE_HPP
#define MORTISE_TOOLS_OUTBOX_COMMAND_LINE_HPP

#include "settings.hpp"

namespace CLI {
class App;
}

namespace mortise::tool {

/// Adds what may be said of `outbox` to a command line; what is said goes to `target`.
CLI::App& add_outbox(CLI::App& app, outbox_settings& target);
CLI::App& add_inbox(CLI::App& app, inbox_settings& target);

/// @return what it is given. @throws failure if something is missing in it.
const outbox_settings& checked(const outbox_settings& said);
const inbox_settings& checked(const inbox_settings& said);

}  // namespace mortise::tool

#endif
