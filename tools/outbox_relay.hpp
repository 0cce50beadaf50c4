// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_RELAY_HPP
#define MORTISE_TOOLS_OUTBOX_RELAY_HPP

#include "settings.hpp"

#include <iosfwd>
#include <string>

namespace mortise::tool {

/// `mortise outbox relay`: sends what is in a message table until a signal comes, or until nothing
/// is left. @return the exit code. @throws failure
int relay_messages(
    const global_settings& global, const outbox_settings& settings, std::ostream& out
);

/// @throws error if the database is not there or has no message table: none is to be made.
void require_outbox(const std::string& database);

}  // namespace mortise::tool

#endif
