// SPDX-License-Identifier: BSL-1.0
#include "core/lock_engine.hpp"

#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::core {
namespace {

bool sound(lock_mode mode) noexcept {
    return mode.type() != lock_mode::kind::permits ||
           (mode.capacity() >= 1 && mode.capacity() <= lock_mode::capacity_max);
}

}  // namespace

result<answer> lock_engine::request(session_key session, const lock_request& request) {
    MORTISE_ASSERT(!request.name.empty());
    actor_ = session;
    if (auto present = rows_.find(session, request.id);
        present && !MORTISE_PLANTED(request_not_idempotent)) {
        // A repeated request gets the answer of the first one, or a grant if it came meanwhile.
        advance(present->name);
        present = rows_.find(session, request.id);
        return present ? describe(*present) : answer{};
    }
    if (!sound(request.mode))
        return error_code(errc::bad_mode);

    standing found = settle(request.name);
    const std::uint32_t capacity = request.mode.capacity();
    const std::uint32_t present = capacity != 0 ? rows_.capacity_of(request.name) : 0;
    if (present != 0 && present != capacity) {
        finish();
        return error_code(errc::capacity_differs);
    }

    lock_entry entry;
    entry.name = request.name;
    entry.session = session;
    entry.id = request.id;
    entry.mode = request.mode;
    entry.hold_max = request.hold_max;
    entry.since = now_;
    const presence here = rows_.presence_of(session);
    if (here == presence::gone) {
        end(session);
        return answer{};
    }
    if (here == presence::alive && !found.blocked && found.held.admits(entry.mode))
        return grant_newcomer(std::move(entry), found);

    tell_contended(entry.name, session);
    answer result;
    if (request.queue) {
        entry.ordinal = next_ordinal(entry.name);
        rows_.insert(entry);
        rows_.changed(session, 0, 1, false);
        result = describe(entry);
    }
    finish();
    return result;
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

bool lock_engine::release(
    session_key session, request_id id, std::uint64_t token, std::uint32_t slot
) {
    actor_ = session;
    const auto entry = held_grant(session, id, token, slot);
    if (!entry)
        return false;
    remove(*entry, false);
    advance(entry->name);
    return true;
}

result<std::uint64_t> lock_engine::draw(
    session_key session, request_id id, std::uint64_t token, std::uint32_t slot, std::uint64_t bases
) {
    const auto entry = held_grant(session, id, token, slot);
    if (!entry || entry->ends() <= now_)
        return error_code(errc::lease_lost);
    if (entry->mode.type() == lock_mode::kind::shared)
        return error_code(errc::unsupported);
    const std::uint64_t first = rows_.draw_bases(bases);
    MORTISE_ASSERT(first == 0 || first + bases <= fencing_token::base_end);
    return first;
}

std::size_t
lock_engine::break_grants(std::string_view name, std::uint64_t token, std::uint32_t slot) {
    std::size_t broken = 0;
    for (const auto& holder : rows_.holders(name)) {
        if (holder.token != token || holder.slot != slot)
            continue;
        take_away(holder);
        ++broken;
    }
    if (broken != 0)
        advance(name);
    return broken;
}

void lock_engine::end(session_key session) {
    found_gone(session);
    finish();
}

void lock_engine::expire() {
    while (const auto holder = rows_.next_ended(now_)) {
        take_away(*holder);
        settle(holder->name);
    }
    finish();
}

void lock_engine::advance(std::string_view name) {
    grant_next(name);
    finish();
}

// Repeats until no dead session is met on the way: burying one can change the state of this lock.
lock_engine::standing lock_engine::settle(std::string_view name) {
    for (;;) {
        standing found = grant_next(name);
        if (gone_.empty())
            return found;
        bury_gone();
    }
}

// Grants from the head of the queue: each waiter who can be reached and whose mode goes together
// with the holders gets the lock. No other function grants to a waiter.
lock_engine::standing lock_engine::grant_next(std::string_view name) {
    standing found;
    found.held = holders_of(name);
    if (rows_.quarantined() || found.held.closed()) {
        found.blocked = found.waited_for = true;
        return found;
    }
    std::uint64_t after = 0;
    while (auto next = rows_.next(name, false, after)) {
        after = next->ordinal;
        switch (rows_.presence_of(next->session)) {
        case presence::alive:
            if (!found.held.admits(next->mode) || !make_grant(*next, found.held)) {
                found.blocked = found.waited_for = true;
                return found;
            }
            rows_.grant(*next);
            rows_.changed(next->session, 1, -1, next->session != actor_);
            tell(effect::kind::granted, *next);
            break;
        case presence::unreachable:
            found.waited_for = true;
            break;
        case presence::gone:
            remove(*next, true);
            found_gone(next->session);
            break;
        }
        if (found.held.closed()) {
            found.blocked = found.waited_for = true;
            return found;
        }
    }
    return found;
}

std::vector<effect> lock_engine::take_effects() {
    flagged_ = 0;
    return std::exchange(effects_, {});
}

// Removes lapsed holders on the way. For exclusive and shared grants the first live holder settles
// whether others may join, so the rest is not read; permits are all read, since each has a slot.
holder_set lock_engine::holders_of(std::string_view name) {
    holder_set held;
    std::uint64_t after = 0;
    while (const auto first = rows_.next(name, true, after)) {
        after = first->ordinal;
        if (lapsed(*first))
            continue;
        if (first->mode.type() != lock_mode::kind::permits) {
            held.add(*first);
            return held;
        }
        for (const auto& holder : rows_.holders(name)) {
            if (!lapsed(holder))
                held.add(holder);
        }
        return held;
    }
    return held;
}

// Whether `holder` no longer holds the lock, because its session is gone or its time is over; then
// this also removes its entry.
bool lock_engine::lapsed(const lock_entry& holder) {
    if (rows_.presence_of(holder.session) == presence::gone) {
        remove(holder, true);
        found_gone(holder.session);
        return true;
    }
    if (holder.ends() > now_)
        return false;
    take_away(holder);
    return true;
}

// Removes a grant of a live session, which must be told: it does not know that it lost the lock.
void lock_engine::take_away(const lock_entry& holder) {
    remove(holder, true);
    tell(effect::kind::look_again, holder);
}

void lock_engine::remove(const lock_entry& entry, bool by_other) {
    rows_.erase(entry);
    untell(entry);
    rows_.changed(entry.session, entry.granted ? -1 : 0, entry.granted ? 0 : -1, by_other);
}

// @return false if the rows failed and gave no token; the transaction will be rolled back.
bool lock_engine::make_grant(lock_entry& entry, holder_set& held) {
    entry.token = held.common_token(entry.mode);
    if (entry.token == 0) {
        const std::uint64_t base = rows_.draw_bases(1);
        if (base == 0)
            return false;
        MORTISE_ASSERT(base < fencing_token::base_end);
        entry.token = base << fencing_token::sequence_bits;
    }
    entry.slot = held.free_slot(entry.mode);
    entry.granted = true;
    entry.since = now_;
    held.add(entry);
    return true;
}

answer lock_engine::grant_newcomer(lock_entry entry, standing& found) {
    answer result;
    if (!make_grant(entry, found.held))
        return result;
    entry.ordinal = next_ordinal(entry.name);
    rows_.insert(entry);
    rows_.changed(entry.session, 1, 0, false);
    finish();
    result.type = answer::kind::granted;
    result.token.value = entry.token;
    result.slot = entry.slot;
    result.contended = found.waited_for && rows_.others_wait(entry.name, entry.session);
    tell(effect::kind::granted, entry);
    effects_.back().contended = result.contended;
    flagged_ = effects_.size();
    return result;
}

std::optional<lock_entry> lock_engine::held_grant(
    session_key session, request_id id, std::uint64_t token, std::uint32_t slot
) {
    auto entry = rows_.find(session, id);
    if (entry && entry->granted && entry->token == token && entry->slot == slot)
        return entry;
    return std::nullopt;
}

void lock_engine::tell(effect::kind kind, const lock_entry& to) {
    effect fresh;
    fresh.type = kind;
    fresh.to = to.session;
    fresh.name = to.name;
    fresh.id = to.id;
    fresh.token = to.token;
    fresh.slot = to.slot;
    effects_.push_back(std::move(fresh));
}

// Drops the effects of earlier operations of this transaction on a removed entry: the session would
// hear of a grant that it no longer has at the commit.
void lock_engine::untell(const lock_entry& gone) {
    for (std::size_t i = effects_.size(); i-- > 0;) {
        if (effects_[i].to != gone.session || effects_[i].id != gone.id)
            continue;
        effects_.erase(effects_.begin() + static_cast<std::ptrdiff_t>(i));
        flagged_ -= i < flagged_ ? 1 : 0;
    }
}

// Marks the pending `granted` effect of `holder` as contended, if an earlier operation of this
// transaction granted it: one push then says both. @return whether there was such an effect.
bool lock_engine::add_to_grant(const lock_entry& holder) {
    for (std::size_t i = 0; i < flagged_; ++i) {
        effect& effect = effects_[i];
        if (effect.type == effect::kind::granted && effect.to == holder.session &&
            effect.id == holder.id) {
            effect.contended = true;
            return true;
        }
    }
    return false;
}

// Tells the holders of other sessions that `newcomer` cannot get the lock. Each earlier waiter told
// all holders except those of its own session. So this tells every holder if nobody waits, those of
// the waiters' session if all waiters are of one session, and nobody otherwise.
void lock_engine::tell_contended(std::string_view name, session_key newcomer) {
    const auto first = rows_.next(name, false, 0);
    if (first && (first->session == newcomer || rows_.others_wait(name, first->session)))
        return;
    std::vector<session_key> notified;
    for (const auto& holder : rows_.holders(name)) {
        if (holder.session == newcomer || (first && holder.session != first->session))
            continue;
        if (!add_to_grant(holder)) {
            tell(effect::kind::contended, holder);
            effects_.back().contended = true;
        }
        if (std::find(notified.begin(), notified.end(), holder.session) != notified.end())
            continue;
        notified.push_back(holder.session);
        rows_.changed(holder.session, 0, 0, true);
    }
}

// Notes a dead session once, even if several of its entries are met before it is buried.
void lock_engine::found_gone(session_key session) {
    if (std::find(gone_.begin(), gone_.end(), session) == gone_.end())
        gone_.push_back(session);
}

// Frees everything of the sessions that were found dead. Freeing can find more of them, so this is
// a loop; it ends because a forgotten session has no entries. All entries of a session are removed
// before its locks are granted on: a session that ends itself is alive and still waits
// for other locks, or for the same one, so it could otherwise be granted a lock while it ends.
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

// Ends every operation. Only now, with everything granted, is it known whether others still wait.
void lock_engine::finish() {
    bury_gone();
    for (; flagged_ < effects_.size(); ++flagged_) {
        effect& grant = effects_[flagged_];
        if (grant.type == effect::kind::granted)
            grant.contended = rows_.others_wait(grant.name, grant.to);
    }
}

std::uint64_t lock_engine::next_ordinal(std::string_view name) {
    return 1 + std::max(rows_.last_ordinal(name, true), rows_.last_ordinal(name, false));
}

answer lock_engine::describe(const lock_entry& entry) {
    answer result;
    result.contended = rows_.others_wait(entry.name, entry.session);
    if (entry.granted) {
        result.type = answer::kind::granted;
        result.token.value = entry.token;  // The store adds its domain.
        result.slot = entry.slot;
        return result;
    }
    result.type = answer::kind::queued;
    if (const auto first = rows_.next(entry.name, false, 0))
        result.position = entry.ordinal - first->ordinal + rows_.holder_count(entry.name);
    return result;
}

}  // namespace mortise::core
