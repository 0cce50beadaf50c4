// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_HTTP_SRC_CONTROL_CONTROL_JSON_HPP
#define MORTISE_TXN_HTTP_SRC_CONTROL_CONTROL_JSON_HPP

#include "mortise/txn/intervention.hpp"
#include "mortise/txn/outcome.hpp"
#include "mortise/txn/transaction_view.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::txn::http {

/// `active`, `confirmed`, `cancelled`, `forgotten`, `never_existed`.
std::string_view outcome_word(standing value) noexcept;

std::string outcome_json(const gid& gid, standing standing);
/// @return nothing unless the text has the form that `outcome_json` makes for this transaction.
std::optional<standing> read_outcome(std::string_view text, const gid& gid);

std::string view_json(const transaction_view& view);
std::string list_json(const std::vector<transaction_view>& all);
std::string error_json(std::string_view name, std::string_view message);

/// Reads `{"branch": 1, "who": "...", "why": "..."}` into `into`; the branch may be missing.
/// @return false, and the reason in `wrong`, if the text has another form.
bool read_intervention(std::string_view text, intervention& into, std::string& wrong);

}  // namespace mortise::txn::http

#endif
