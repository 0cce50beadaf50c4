// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_RUN_COMMAND_HPP
#define MORTISE_TOOLS_RUN_COMMAND_HPP

#include "settings.hpp"

namespace mortise::tool {

/// `mortise run`: runs a command under a lock. @return the exit code; `help::run_footer` lists the
/// codes.
/// @throws failure, or what the library throws.
int run_under_lock(const global_settings& global, const run_settings& settings);

}  // namespace mortise::tool

#endif
