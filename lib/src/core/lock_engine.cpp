// SPDX-License-Identifier: BSL-1.0
#include "core/lock_engine.hpp"

#include "core/planted_bug.hpp"
#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <utility>

namespace mortise::core {

result<answer> lock_engine::request(session_key session, const lock_request& request) {
    MORTISE_ASSERT(!request.name.empty());
    actor_ = session;
    if (auto present = rows_.find(request.name, session, request.id);
        present && !MORTISE_PLANTED(request_not_idempotent)) {
        // A repeated request gets the answer of the first one, or a grant if it came meanwhile.
        advance(request.name);
        present = rows_.find(request.name, session, request.id);
        return present ? describe(*present) : answer{};
    }
    if (!sound(request.mode))
        return error_code(errc::bad_mode);

    queue_view view = grant_next(request.name);
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
        rows_.mark_dead(session);
        finish();
        return answer{};
    }
    const bool waited_for = view.waited_for();
    if (view.judge({entry.mode, here}) == standing::due)
        return grant_newcomer(std::move(entry), view, waited_for);

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

bool lock_engine::withdraw(session_key session, std::string_view name, request_id id) {
    actor_ = session;
    const auto entry = rows_.find(name, session, id);
    if (!entry)
        return false;
    remove(*entry, false);
    advance(name);
    return true;
}

bool lock_engine::release(session_key session, const grant_key& held) {
    actor_ = session;
    const auto entry = held_grant(session, held);
    if (!entry)
        return false;
    remove(*entry, false);
    advance(held.name);
    return true;
}

result<std::uint64_t>
lock_engine::draw(session_key session, const grant_key& held, std::uint64_t bases) {
    const auto entry = held_grant(session, held);
    if (!entry || entry->ends() <= now_)
        return error_code(errc::lease_lost);
    if (entry->mode.type() == lock_mode::kind::shared)
        return error_code(errc::unsupported);
    const std::uint64_t first = rows_.draw_bases(bases);
    MORTISE_ASSERT(first == 0 || first + bases <= fencing_token::base_end);
    return first;
}

result<std::chrono::milliseconds> lock_engine::extend(
    session_key session, const grant_key& held, std::chrono::milliseconds hold_max
) {
    using std::chrono::milliseconds;
    const auto entry = held_grant(session, held);
    if (!entry || entry->ends() <= now_)
        return error_code(errc::lease_lost);
    if (hold_max != milliseconds::max()) {
        const auto kept = std::max(now_ - entry->since, clock::duration::zero());
        hold_max += std::chrono::ceil<milliseconds>(kept);
    }
    rows_.set_hold_max(*entry, hold_max);
    return hold_max;
}

std::size_t
lock_engine::break_grants(std::string_view name, std::uint64_t token, std::uint32_t slot) {
    std::size_t broken = 0;
    bool changed = false;
    for (const auto& holder : rows_.holders(name)) {
        if (holder.token != token || holder.slot != slot)
            continue;
        changed = true;
        if (remove_if_lapsed(holder))
            continue;  // Nobody held it any longer.
        take_away(holder);
        ++broken;
    }
    if (changed)
        advance(name);
    return broken;
}

// Each lock is granted on as soon as it is free. The session is marked as dead first: one that ends
// of its own will may wait for other locks, or for the same one, and must not be granted any.
bool lock_engine::reap(session_key session, std::size_t& budget) {
    rows_.mark_dead(session);
    bool forgotten = false;
    for (; budget != 0 && !forgotten; --budget) {
        const auto entry = rows_.any_of(session);
        if (entry) {
            remove(*entry, true);
            grant_next(entry->name);
        } else {
            rows_.forget(session);
            forgotten = true;
        }
    }
    finish();
    return forgotten;
}

bool lock_engine::expire(std::size_t& budget) {
    auto holder = rows_.next_ended(now_);
    for (; holder && budget != 0; --budget) {
        if (!remove_if_lapsed(*holder))
            take_away(*holder);  // It has ended for the rows, which would name it again.
        grant_next(holder->name);
        holder = rows_.next_ended(now_);
    }
    finish();
    return !holder;
}

void lock_engine::advance(std::string_view name) {
    grant_next(name);
    finish();
}

// Reads the queue as far as it decides something. No other function grants to a waiter.
queue_view lock_engine::grant_next(std::string_view name) {
    queue_view view(rows_.quarantined());
    place_holders(name, view);
    std::uint64_t after = 0;
    while (!view.closed()) {
        auto next = rows_.next(name, false, after);
        if (!next)
            break;
        after = next->ordinal;
        switch (view.judge(examine(*next))) {
        case standing::due:
            if (!make_grant(*next, view)) {
                view.stop();
                break;
            }
            rows_.grant(*next);
            // Told by a push alone, even if this session itself let the lock go.
            rows_.changed(next->session, 1, -1, true);
            tell(effect::kind::granted, *next);
            break;
        case standing::lapsed:
            remove_dead(*next);
            break;
        case standing::holds:
        case standing::passed_over:
        case standing::waits:
            break;
        }
    }
    return view;
}

std::vector<effect> lock_engine::take_effects() {
    flagged_ = 0;
    return std::exchange(effects_, {});
}

// Removes lapsed holders on the way. For exclusive and shared grants the first live holder settles
// whether others may join, so the rest is not read; permits are all read, since each has a slot.
void lock_engine::place_holders(std::string_view name, queue_view& view) {
    std::uint64_t after = 0;
    while (const auto first = rows_.next(name, true, after)) {
        after = first->ordinal;
        if (!place_holder(*first, view))
            continue;
        if (view.settled())
            return;
        for (const auto& holder : rows_.holders(name)) {
            if (holder.ordinal > after)
                place_holder(holder, view);
        }
        return;
    }
}

// Removes `holder` if it has lapsed. @return whether it has the lock.
bool lock_engine::place_holder(const lock_entry& holder, queue_view& view) {
    const queue_entry seen = examine(holder);
    if (view.judge(seen) == standing::holds)
        return true;
    if (seen.session == presence::gone)
        remove_dead(holder);
    else
        take_away(holder);
    return false;
}

bool lock_engine::remove_if_lapsed(const lock_entry& holder) {
    queue_view alone(false);
    return !place_holder(holder, alone);
}

queue_entry lock_engine::examine(const lock_entry& entry) {
    queue_entry seen;
    seen.mode = entry.mode;
    seen.session = rows_.presence_of(entry.session);
    seen.granted = entry.granted;
    seen.ended = entry.ends() <= now_;
    seen.token = entry.token;
    seen.slot = entry.slot;
    return seen;
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

void lock_engine::remove_dead(const lock_entry& entry) {
    rows_.mark_dead(entry.session);
    remove(entry, true);
}

// @return false if the rows failed and gave no token; the transaction will be rolled back.
bool lock_engine::make_grant(lock_entry& entry, queue_view& view) {
    entry.token = view.holders().common_token(entry.mode);
    if (entry.token == 0) {
        const std::uint64_t base = rows_.draw_bases(1);
        if (base == 0)
            return false;
        MORTISE_ASSERT(base < fencing_token::base_end);
        entry.token = base << fencing_token::sequence_bits;
    }
    entry.slot = view.holders().free_slot(entry.mode);
    entry.granted = true;
    entry.since = now_;
    view.admit(entry.mode, entry.token, entry.slot);
    return true;
}

answer lock_engine::grant_newcomer(lock_entry entry, queue_view& view, bool waited_for) {
    answer result;
    if (!make_grant(entry, view))
        return result;
    entry.ordinal = next_ordinal(entry.name);
    rows_.insert(entry);
    rows_.changed(entry.session, 1, 0, false);
    finish();
    result.type = answer::kind::granted;
    result.token.value = entry.token;
    result.slot = entry.slot;
    result.contended = waited_for && rows_.others_wait(entry.name, entry.session);
    tell(effect::kind::granted, entry);
    effects_.back().contended = result.contended;
    flagged_ = effects_.size();
    return result;
}

std::optional<lock_entry> lock_engine::held_grant(session_key session, const grant_key& held) {
    auto entry = rows_.find(held.name, session, held.id);
    if (entry && entry->granted && entry->token == held.token && entry->slot == held.slot)
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
        if (add_to_grant(holder))
            continue;  // That grant is counted.
        tell(effect::kind::contended, holder);
        effects_.back().contended = true;
        if (std::find(notified.begin(), notified.end(), holder.session) != notified.end())
            continue;
        notified.push_back(holder.session);
        rows_.changed(holder.session, 0, 0, true);
    }
}

// Ends every operation. Only now, with everything granted, is it known whether others still wait.
void lock_engine::finish() {
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
