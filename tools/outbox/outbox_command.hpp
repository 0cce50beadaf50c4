// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_OUTBOX_COMMAND_HPP
#define MORTISE_TOOLS_OUTBOX_OUTBOX_COMMAND_HPP

#include "common/settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>
#include <string>

namespace mortise::tool {

/// `mortise outbox`: shows a message table, and repairs it on order.
/// @return the exit code. @throws failure, or what the library throws.
int message_table(const global_settings& global, const outbox_settings& settings);

/// `ls`, `show`, `parked` and `later`.
int look_at_outbox(
    const global_settings& global, const outbox_settings& settings, std::ostream& out
);

/// `replay`, `drop`, `discard`, `cancel`, `reschedule`, `rebase` and `reshard`.
boost::asio::awaitable<int>
mend_outbox(const global_settings& global, const outbox_settings& settings, std::ostream& out);

/// `mortise outbox relay`: sends the rows of a message table until a signal comes or, if wanted,
/// until no row is left.
/// @return the exit code. @throws failure
int relay_messages(
    const global_settings& global, const outbox_settings& settings, std::ostream& out
);

/// Checks that the database has a message table. The command must not create one.
/// @throws error if it has none, or if the database does not exist.
void require_outbox(const std::string& database);

}  // namespace mortise::tool

#endif
