// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_VERSION_COMMAND_HPP
#define MORTISE_TOOLS_VERSION_COMMAND_HPP

#include "settings.hpp"

namespace mortise::tool {

/// `mortise --version`: prints the version of mortise and of its libraries. @return the exit code.
int show_version(const global_settings& global);

}  // namespace mortise::tool

#endif
