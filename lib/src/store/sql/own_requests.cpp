// SPDX-License-Identifier: BSL-1.0
#include "store/sql/own_requests.hpp"

#include <vector>

namespace mortise::store_detail {

own_requests::record& own_requests::note(const std::string& name, request_id id) {
    record& known = by_id_[id];
    known.name = name;
    by_name_[name].insert(id);
    return known;
}

const own_requests::record* own_requests::find(request_id id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second;
}

void own_requests::erase(request_id id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end())
        return;
    const auto named = by_name_.find(found->second.name);
    named->second.erase(id);
    if (named->second.empty())
        by_name_.erase(named);
    by_id_.erase(found);
}

void own_requests::learn(const session_view& view) {
    std::set<request_id> there;
    for (const auto& each : view.entries) {
        there.insert(each.id);
        record& known = note(each.name, each.id);
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
    if (push.type == store_event::kind::granted)
        found->second.ordinal = 0;
    if (push.type == store_event::kind::granted || push.type == store_event::kind::contended)
        found->second.contended = push.contended;
}

void own_requests::clear() noexcept {
    by_id_.clear();
    by_name_.clear();
}

}  // namespace mortise::store_detail
