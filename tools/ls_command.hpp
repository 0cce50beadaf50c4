// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_LS_COMMAND_HPP
#define MORTISE_TOOLS_LS_COMMAND_HPP

#include "settings.hpp"

namespace mortise::tool {

/// `mortise ls`: who holds which lock, and who waits. @return the exit code.
/// @throws failure, or what the library throws.
int list_locks(const global_settings& global, const ls_settings& settings);

}  // namespace mortise::tool

#endif
