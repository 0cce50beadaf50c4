// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_TXN_COMMAND_HPP
#define MORTISE_TOOLS_TXN_COMMAND_HPP

#include "settings.hpp"

#include <boost/asio/awaitable.hpp>

#include <iosfwd>

namespace mortise::tool {

/// `mortise txn`: shows the log of a coordinator, and hands it the orders of an operator.
/// @return the exit code. @throws failure, or what the library throws.
int transactions(const global_settings& global, const txn_settings& settings);

/// `ls` and `show`.
int look_at_transactions(
    const global_settings& global, const txn_settings& settings, std::ostream& out
);

/// `retry`, `skip` and `force`.
boost::asio::awaitable<int>
intervene(const global_settings& global, const txn_settings& settings, std::ostream& out);

}  // namespace mortise::tool

#endif
