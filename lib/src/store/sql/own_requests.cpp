// SPDX-License-Identifier: BSL-1.0
#include "store/sql/own_requests.hpp"

#include <set>
#include <vector>

namespace mortise::store_detail {

const own_requests::record* own_requests::find(request_id id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second;
}

void own_requests::learn(const session_view& view) {
    std::set<request_id> there;
    for (const auto& each : view.entries) {
        there.insert(each.id);
        record& known = note(each.id);
        known.contended = each.contended;
        if (each.granted)
            known.ordinal = 0;
    }
    std::vector<request_id> gone;
    for (const auto& [id, known] : by_id_) {
        if (!known.under_way && !there.contains(id))
            gone.push_back(id);
    }
    for (const auto id : gone)
        erase(id);
}

void own_requests::hear(const sql_push& push) {
    const auto found = by_id_.find(push.id);
    if (found == by_id_.end())
        return;
    if (push.type == store_event::kind::granted) {
        found->second.ordinal = 0;
        found->second.passed_on = true;
    }
    if (push.type == store_event::kind::granted || push.type == store_event::kind::contended)
        found->second.contended = push.contended;
}

}  // namespace mortise::store_detail
