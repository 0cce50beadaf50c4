// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_TXN_TXN_COMMAND_HPP
#define MORTISE_TOOLS_TXN_TXN_COMMAND_HPP

#include "common/json.hpp"
#include "common/settings.hpp"
#include "mortise/txn/log_reader.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

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

/// `orphans`.
boost::asio::awaitable<int>
list_orphans(const global_settings& global, const txn_settings& settings, std::ostream& out);

/// Opens the log that the settings name. @throws failure
txn::log_reader opened_log(const txn_settings& settings);

/// `open`, `confirmed` or `cancelled`, and what keeps it from its end: "confirmed, 1 stuck".
std::string state_text(const txn::transaction_view& transaction);

/// Writes a table of transactions.
void write_transactions(std::ostream& out, const std::vector<txn::transaction_view>& all);

/// Writes one transaction in full, as a timeline.
void write_transaction(std::ostream& out, const txn::transaction_view& transaction);

json::object transaction_json(const txn::transaction_view& transaction);

}  // namespace mortise::tool

#endif
