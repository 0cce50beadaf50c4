// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_OUTBOX_COMMAND_HPP
#define MORTISE_TOOLS_OUTBOX_COMMAND_HPP

#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

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

}  // namespace mortise::tool

#endif
