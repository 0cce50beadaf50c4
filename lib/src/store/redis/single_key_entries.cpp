// SPDX-License-Identifier: BSL-1.0
#include "store/redis/single_key_entries.hpp"

#include "store/redis/single_key_values.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using stage = single_key_entry::stage;

void single_key_entries::begin_session() noexcept {
    entries_.clear();
    changes_ = 0;
    newest_ = 0;
}

single_key_entry* single_key_entries::find(request_id id) noexcept {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second;
}

single_key_entry& single_key_entries::add(request_id id, const std::string& name) {
    newest_ = std::max(newest_, id);
    single_key_entry& entry = entries_[id];
    entry.name = name;
    return entry;
}

void single_key_entries::lose(request_id id) noexcept {
    entries_.erase(id);
    ++changes_;
}

answer
single_key_entries::granted(request_id id, const fencing_token& token, clock::time_point now) {
    single_key_entry& entry = at(id);
    entry.at = stage::held;
    entry.token = token;
    entry.since = now;
    answer reply;
    reply.type = answer::kind::granted;
    reply.token = token;
    return reply;
}

answer single_key_entries::again(const single_key_entry& entry) {
    answer reply;
    reply.type = entry.at == stage::held ? answer::kind::granted : answer::kind::queued;
    reply.token = entry.token;
    reply.position = entry.at == stage::held ? 0 : 1;
    return reply;
}

std::vector<request_id> single_key_entries::maybe_set() const {
    std::vector<request_id> ids;
    for (const auto& [id, entry] : entries_) {
        if (entry.maybe_set)
            ids.push_back(id);
    }
    return ids;
}

std::vector<request_id> single_key_entries::to_renew() const {
    std::vector<request_id> ids;
    for (const auto& [id, entry] : entries_) {
        if (entry.maybe_set && entry.at != stage::leaving)
            ids.push_back(id);
    }
    return ids;
}

void single_key_entries::describe(heartbeat& reply) const noexcept {
    reply.changes = changes_;
    for (const auto& [id, entry] : entries_) {
        reply.grants += entry.at == stage::held;
        reply.requests += entry.at == stage::waiting;
    }
}

session_view single_key_entries::view(clock::time_point now) const {
    session_view seen;
    seen.changes = changes_;
    for (const auto& [id, entry] : entries_) {
        if (entry.at != stage::waiting && entry.at != stage::held)
            continue;
        session_entry shown;
        shown.id = id;
        shown.name = entry.name;
        shown.granted = entry.at == stage::held;
        shown.token = entry.token;
        shown.contended = entry.contended;
        if (shown.granted)
            shown.age = now - entry.since;
        seen.entries.push_back(std::move(shown));
    }
    return seen;
}

const single_key_entry* single_key_entries::own(
    const session_id& session, const std::string& name, const std::string& value
) const {
    for (const auto& [id, entry] : entries_) {
        if (entry.name == name && entry.at == stage::held &&
            value.starts_with(single_key_id(session, id)))
            return &entry;
    }
    return nullptr;
}

}  // namespace mortise::store_detail
