// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_COMMAND_LINE_HPP
#define MORTISE_TOOLS_OUTBOX_COMMAND_LINE_HPP

#include "settings.hpp"

namespace CLI {
class App;
}

namespace mortise::tool {

/// Adds `outbox` and its options to a command line. Parsing writes them to `target`.
CLI::App& add_outbox(CLI::App& app, outbox_settings& target);
CLI::App& add_inbox(CLI::App& app, inbox_settings& target);

/// Returns its argument. @throws failure if a needed option is missing.
const outbox_settings& checked(const outbox_settings& said);
const inbox_settings& checked(const inbox_settings& said);

}  // namespace mortise::tool

#endif
