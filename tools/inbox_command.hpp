// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_INBOX_COMMAND_HPP
#define MORTISE_TOOLS_INBOX_COMMAND_HPP

#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace mortise::tool {

/// `mortise inbox`: what people see of the inboxes in a database, and can do with them.
/// @return the exit code. @throws failure, or what the library throws.
int inboxes(const global_settings& global, const inbox_settings& settings);

/// `ls` and `parked`.
int look_at_inboxes(
    const global_settings& global, const inbox_settings& settings, std::ostream& out
);

/// `replay` and `drop`.
boost::asio::awaitable<int>
mend_inbox(const global_settings& global, const inbox_settings& settings, std::ostream& out);

}  // namespace mortise::tool

#endif
