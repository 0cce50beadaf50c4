// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_INBOX_COMMAND_HPP
#define MORTISE_TOOLS_INBOX_COMMAND_HPP

#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace mortise::tool {

/// `mortise inbox`: shows the inboxes of a database, and repairs them on order.
/// @return the exit code. @throws failure, or what the library throws.
int inboxes(const global_settings& global, const inbox_settings& settings);

/// `ls` and `parked`.
int look_at_inboxes(
    const global_settings& global, const inbox_settings& settings, std::ostream& out
);

/// `replay`, `drop` and `move`.
boost::asio::awaitable<int>
mend_inbox(const global_settings& global, const inbox_settings& settings, std::ostream& out);

}  // namespace mortise::tool

#endif
