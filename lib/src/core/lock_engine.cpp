// SPDX-License-Identifier: BSL-1.0
#include "core/lock_engine.hpp"

#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::core {

answer lock_engine::request(session_key session, const lock_request& request) {
    MORTISE_ASSERT(!request.name.empty());
    MORTISE_ASSERT(request.mode == lock_mode::exclusive());
    actor_ = session;
    if (auto present = rows_.find(session, request.id)) {
        // A repeated request gets the answer of the first one, or a better one by now.
        advance(present->name);
        present = rows_.find(session, request.id);
        return present ? describe(*present) : answer{};
    }

    lock_entry entry;
    entry.name = request.name;
    entry.ordinal =
        1 +
        std::max(rows_.last_ordinal(request.name, true), rows_.last_ordinal(request.name, false));
    entry.session = session;
    entry.id = request.id;
    entry.mode = request.mode;
    entry.hold_max = request.hold_max;
    entry.since = now_;
    rows_.insert(entry);
    rows_.changed(session, 0, 1, false);
    advance(request.name);

    auto written = rows_.find(session, request.id);
    if (!written)
        return {};  // The rows failed; the transaction will be rolled back.
    if (!written->granted && !request.queue) {
        remove(*written, false);
        return {};
    }
    if (!written->granted)
        tell_contended(*written);
    return describe(*written);
}

bool lock_engine::withdraw(session_key session, request_id id) {
    actor_ = session;
    auto entry = rows_.find(session, id);
    if (!entry)
        return false;
    remove(*entry, false);
    advance(entry->name);
    return true;
}

bool lock_engine::release(session_key session, request_id id, std::uint64_t token) {
    actor_ = session;
    auto entry = rows_.find(session, id);
    if (!entry || !entry->granted || entry->token != token)
        return false;
    remove(*entry, false);
    advance(entry->name);
    return true;
}

bool lock_engine::break_grant(std::string_view name, std::uint64_t token) {
    std::uint64_t after = 0;
    while (auto entry = rows_.next(name, true, after)) {
        if (entry->token == token) {
            remove(*entry, true);
            effect told;
            told.what = effect::kind::look_again;
            told.to = entry->session;
            told.name = entry->name;
            told.id = entry->id;
            effects_.push_back(std::move(told));
            advance(name);
            return true;
        }
        after = entry->ordinal;
    }
    return false;
}

void lock_engine::end(session_key session) {
    found_gone(session);
    bury_gone();
}

void lock_engine::advance(std::string_view name) {
    grant_next(name);
    bury_gone();
}

// The one rule of the queue: if nobody holds the lock, the first who can be reached gets it.
void lock_engine::grant_next(std::string_view name) {
    if (!free_now(name) || rows_.quarantined())
        return;
    std::uint64_t after = 0;
    while (auto next = rows_.next(name, false, after)) {
        after = next->ordinal;
        switch (rows_.presence_of(next->session)) {
        case presence::alive:
            grant_to(std::move(*next));
            return;
        case presence::unreachable:
            break;  // It keeps its place.
        case presence::gone:
            remove(*next, true);
            found_gone(next->session);
            break;
        }
    }
}

std::vector<effect> lock_engine::take_effects() {
    return std::exchange(effects_, {});
}

void lock_engine::remove(const lock_entry& entry, bool by_other) {
    rows_.erase(entry);
    rows_.changed(entry.session, entry.granted ? -1 : 0, entry.granted ? 0 : -1, by_other);
}

// Whether nobody holds the lock; a holder whose session is gone does not.
bool lock_engine::free_now(std::string_view name) {
    std::uint64_t after = 0;
    while (auto holder = rows_.next(name, true, after)) {
        if (rows_.presence_of(holder->session) != presence::gone)
            return false;
        after = holder->ordinal;
        remove(*holder, true);
        found_gone(holder->session);
    }
    return true;
}

void lock_engine::grant_to(lock_entry entry) {
    const std::uint64_t base = rows_.draw_base();
    if (base == 0)
        return;  // The rows failed; the transaction will be rolled back.
    MORTISE_ASSERT(base < fencing_token::base_end);
    entry.granted = true;
    entry.token = base << fencing_token::sequence_bits;
    entry.since = now_;
    rows_.grant(entry);
    rows_.changed(entry.session, 1, -1, entry.session != actor_);
    effect told;
    told.what = effect::kind::granted;
    told.to = entry.session;
    told.name = entry.name;
    told.id = entry.id;
    told.token = entry.token;
    effects_.push_back(std::move(told));
}

// The first to wait tells the holder; those behind it have nothing to add.
void lock_engine::tell_contended(const lock_entry& waiting) {
    const auto first = rows_.next(waiting.name, false, 0);
    if (!first || first->ordinal != waiting.ordinal)
        return;
    if (const auto holder = rows_.next(waiting.name, true, 0)) {
        effect told;
        told.what = effect::kind::contended;
        told.to = holder->session;
        told.name = holder->name;
        told.id = holder->id;
        told.token = holder->token;
        effects_.push_back(std::move(told));
    }
}

// Once each, however many of its entries are met before it is buried.
void lock_engine::found_gone(session_key session) {
    if (std::find(gone_.begin(), gone_.end(), session) == gone_.end())
        gone_.push_back(session);
}

// Frees everything of the sessions that were found dead on the way. Freeing can find more of them,
// so this is a loop; it ends because a session that is forgotten has no entries. All of a session
// goes before anything of it is granted to others: it may be alive, and end of its own will, and
// must not be granted with one hand what is taken with the other.
void lock_engine::bury_gone() {
    while (!gone_.empty()) {
        const session_key session = gone_.back();
        gone_.pop_back();
        std::vector<std::string> freed;
        while (auto entry = rows_.any_of(session)) {
            remove(*entry, true);
            freed.push_back(std::move(entry->name));
        }
        rows_.forget(session);
        for (const auto& name : freed)
            grant_next(name);
    }
}

answer lock_engine::describe(const lock_entry& entry) {
    answer result;
    const auto first_waiting = rows_.next(entry.name, false, 0);
    const std::uint64_t last_waiting = rows_.last_ordinal(entry.name, false);
    if (entry.granted) {
        result.what = answer::kind::granted;
        result.token.value = entry.token;  // The store adds its domain.
        if (first_waiting)
            result.queue_length = last_waiting - first_waiting->ordinal + 1;
        return result;
    }
    result.what = answer::kind::queued;
    if (first_waiting) {
        result.position = entry.ordinal - first_waiting->ordinal + 1;
        result.queue_length = last_waiting - first_waiting->ordinal;
    }
    return result;
}

}  // namespace mortise::core
