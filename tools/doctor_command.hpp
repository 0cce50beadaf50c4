// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_DOCTOR_COMMAND_HPP
#define MORTISE_TOOLS_DOCTOR_COMMAND_HPP

#include "settings.hpp"

namespace mortise::tool {

/// `mortise doctor`: examines the store. @return the exit code.
/// @throws failure, or what the library throws.
int doctor(const global_settings& global, const doctor_settings& settings);

}  // namespace mortise::tool

#endif
