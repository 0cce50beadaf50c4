// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_VIEW_JSON_HPP
#define MORTISE_TOOLS_VIEW_JSON_HPP

#include "json.hpp"
#include "mortise/store_types.hpp"

#include <vector>

namespace mortise::tool {

/// `label`, `pid`, `host`, `session`, `mode`, and `hold_max_ms` if there is a limit. A holder also
/// has `token`, `token_domain`, `slot` (of a permit) and `held_ms`; a waiter has `waited_ms`.
json::object party_json(const party_view& party, bool holds);

json::array holders_json(const std::vector<party_view>& holders);

/// `name`, `holders`, `waiter_count` and `waiters`.
json::object lock_json(const lock_view& lock);

/// `at`, `token`, `token_domain`, `holder`, `who` and `why`.
json::object break_json(const break_record& record);

}  // namespace mortise::tool

#endif
