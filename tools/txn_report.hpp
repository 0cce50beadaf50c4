// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_TXN_REPORT_HPP
#define MORTISE_TOOLS_TXN_REPORT_HPP

#include "json.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

namespace mortise::tool {

/// `open`, `confirmed` or `cancelled`, and what keeps it from its end: "confirmed, 1 stuck".
std::string state_text(const txn::transaction_view& what);

/// Writes a table of transactions.
void write_transactions(std::ostream& out, const std::vector<txn::transaction_view>& all);

/// Writes one transaction in full, as a timeline.
void write_transaction(std::ostream& out, const txn::transaction_view& what);

json::object transaction_json(const txn::transaction_view& what);

}  // namespace mortise::tool

#endif
