// SPDX-License-Identifier: BSL-1.0
#include "core/entry_views.hpp"
#include "core/session_rules.hpp"
#include "store/break_note.hpp"
#include "store/memory/memory_state.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

using core::lock_engine;
using core::session_key;

session_view memory_state::view_of(session_key key) {
    session_view view;
    view.changes = rows_.sessions[key].changes;
    const auto end = rows_.places.lower_bound({key + 1, 0});
    for (auto place = rows_.places.lower_bound({key, 0}); place != end; ++place) {
        const auto entry = rows_.find(key, place->first.second);
        const bool waited_for = entry->granted && rows_.others_wait(entry->name, key);
        view.entries.push_back(core::own_view(*entry, domain_, waited_for, rows_.now));
    }
    return view;
}

party_view memory_state::describe(const core::lock_entry& entry) const {
    const auto session = rows_.sessions.find(entry.session);
    const bool known = session != rows_.sessions.end();
    return core::party_of(
        entry,
        known ? session->second.start : session_start(),
        known ? session->second.deadline : clock::time_point::max(),
        domain_,
        rows_.now
    );
}

// Whether a look shows an entry: neither one of a dead session nor a grant that has ended, even if
// nobody has met it yet.
bool memory_state::shows(const core::lock_entry& entry) {
    return rows_.presence_of(entry.session) != core::presence::gone &&
           !(entry.granted && core::is_over(entry.ends(), rows_.now));
}

// Nothing if nobody alive holds the lock or waits for it.
std::optional<lock_view> memory_state::describe(
    const std::string& name,
    const store_detail::memory_rows::entries_of_lock& lock,
    std::size_t queue_max
) {
    lock_view view;
    view.name = name;
    for (const auto* const queue : {&lock.granted, &lock.waiting}) {
        for (const auto& [ordinal, entry] : *queue) {
            if (!shows(entry))
                continue;
            if (auto* const list = core::place_in(view, entry.granted, queue_max))
                list->push_back(describe(entry));
        }
    }
    if (view.holders.empty() && view.waiter_count == 0)
        return std::nullopt;
    return view;
}

result<std::vector<lock_view>>
memory_state::list(const std::string& after, std::size_t limit, std::size_t queue_max) {
    const std::lock_guard guard(mutex_);
    if (unavailable_)
        return error_code(errc::store_unavailable);
    rows_.now = now();
    reap_some();
    std::vector<lock_view> views;
    for (auto at = rows_.locks.upper_bound(after); at != rows_.locks.end() && views.size() < limit;
         ++at) {
        if (auto view = describe(at->first, at->second, queue_max))
            views.push_back(std::move(*view));
    }
    return views;
}

result<std::optional<lock_view>>
memory_state::inspect(const std::string& name, std::size_t queue_max) {
    const std::lock_guard guard(mutex_);
    if (unavailable_)
        return error_code(errc::store_unavailable);
    rows_.now = now();
    lock_engine engine(rows_, rows_.now);
    engine.advance(name);
    finish(engine, 0, {});
    std::optional<lock_view> view;
    if (const auto found = rows_.locks.find(name); found != rows_.locks.end())
        view = describe(name, found->second, queue_max);
    return view;
}

result<bool> memory_state::break_(const break_order& order) {
    const std::lock_guard guard(mutex_);
    if (unavailable_)
        return error_code(errc::store_unavailable);
    rows_.now = now();
    const auto slot = order.token.domain.slot_in(domain_);
    if (!slot)
        return false;
    std::vector<party_view> holders;
    for (const auto& entry : rows_.holders(order.name)) {
        if (entry.token == order.token.value && entry.slot == *slot && shows(entry) &&
            holders.size() < store_detail::holders_named)
            holders.push_back(describe(entry));
    }
    lock_engine engine(rows_, rows_.now);
    const std::size_t broken = engine.break_grants(order.name, order.token.value, *slot);
    if (broken != 0) {
        break_record record;
        record.at = store_detail::time_of_day();
        record.name = order.name;
        record.token = order.token;
        record.holder = store_detail::holders_text(holders, broken);
        record.who = order.who;
        record.why = order.why;
        breaks_.push_back(std::move(record));
        if (breaks_.size() > store_detail::breaks_kept)
            breaks_.pop_front();
    }
    finish(engine, 0, {});
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    return broken != 0;
}

result<std::vector<break_record>> memory_state::breaks(const std::string& name, std::size_t limit) {
    const std::lock_guard guard(mutex_);
    if (unavailable_)
        return error_code(errc::store_unavailable);
    std::vector<break_record> found;
    for (auto each = breaks_.rbegin(); each != breaks_.rend() && found.size() < limit; ++each) {
        if (name.empty() || each->name == name)
            found.push_back(*each);
    }
    return found;
}

error_code memory_state::watch(const session_id& session, std::uint64_t generation) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    watchers_.try_emplace(*key, rows_.changes);
    return lose_reply() ? error_code(errc::outcome_unknown) : error_code();
}

bool memory_state::watches(const session_id& session) const {
    const std::lock_guard guard(mutex_);
    const auto found = keys_.find(session);
    return found != keys_.end() && watchers_.contains(found->second);
}

result<std::vector<store_finding>> memory_state::examine() {
    const std::lock_guard guard(mutex_);
    if (unavailable_)
        return error_code(errc::store_unavailable);
    std::vector<store_finding> found;
    const auto add =
        [&found](store_finding::verdict verdict, const char* subject, std::string text) {
            found.emplace_back();
            found.back().judgement = verdict;
            found.back().subject = subject;
            found.back().found = std::move(text);
        };
    using verdict = store_finding::verdict;
    add(verdict::holds,
        "reach",
        "Locks are kept in the memory of this process, for its own clients only: name a store "
        "that processes can share if others shall be excluded.");
    add(verdict::weak,
        "tokens",
        "Tokens grow while the process lives and begin again in the next one: fence nothing with "
        "them that outlives the process.");
    add(verdict::holds,
        "sessions",
        std::to_string(rows_.sessions.size()) + " sessions hold or wait for " +
            std::to_string(rows_.locks.size()) + " locks.");
    return found;
}

}  // namespace mortise::detail
