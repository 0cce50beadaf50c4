// SPDX-License-Identifier: BSL-1.0
#include "store/memory/memory_state.hpp"

#include "core/entry_views.hpp"
#include "core/planted_bug.hpp"
#include "store/drawn_bases.hpp"

#include <algorithm>
#include <utility>

namespace mortise::detail {

using core::lock_engine;
using core::session_key;

memory_state::memory_state(std::shared_ptr<coro::time_source> time)
    : time_(std::move(time)),
      domain_(*token_domain::parse("memory-" + random_id::draw().text().substr(0, 16))) {}

void memory_state::lend(const std::shared_ptr<coro::time_source>& time) {
    const std::lock_guard guard(mutex_);
    lent_.push_back(time);
}

void memory_state::take_back(const std::shared_ptr<coro::time_source>& time) noexcept {
    const std::lock_guard guard(mutex_);
    rows_.now = now();
    lent_.erase(std::find(lent_.begin(), lent_.end(), time));
}

// While no client is there, time stands still.
clock::time_point memory_state::now() const noexcept {
    if (time_)
        return time_->now();
    return lent_.empty() ? rows_.now : lent_.front()->now();
}

// Begins a transaction of `session`. Every reason to refuse one is checked here: the faults, a
// session that has ended, a generation that was replaced.
result<session_key> memory_state::enter(const session_id& session, std::uint64_t generation) {
    if (unavailable_)
        return error_code(errc::store_unavailable);
    rows_.now = now();
    wake_after_quarantine();
    const auto found = keys_.find(session);
    if (found == keys_.end())
        return error_code(errc::session_lost);
    const session_key key = found->second;
    const auto known = rows_.terms_of(key);
    if (known && core::may_act(*known, generation, rows_.now))
        return key;
    if (!known || core::is_over(known->deadline, rows_.now)) {
        keys_.erase(found);
        rows_.mark_dead(key);
        reap_some();
    }
    return error_code(errc::session_lost);
}

bool memory_state::lose_reply() {
    if (replies_to_lose_ == 0)
        return false;
    --replies_to_lose_;
    return true;
}

// Pushes what the transaction did for sessions. A grant to a request that is being answered is left
// out, because the answer reports it.
void memory_state::finish(
    lock_engine& engine, session_key actor, std::span<const request_id> answered
) {
    for (const auto& effect : engine.take_effects()) {
        if (effect.type == core::effect::kind::granted && effect.to == actor &&
            std::find(answered.begin(), answered.end(), effect.id) != answered.end())
            continue;
        push(effect.to, core::event_of(effect, domain_));
    }
    tell_watchers();
}

// @return false if the push is lost because of a fault (`lose_pushes`).
bool memory_state::push(session_key to, const store_event& event) {
    const auto found = rows_.sessions.find(to);
    if (found == rows_.sessions.end())
        return true;
    if (pushes_to_lose_ != 0) {
        --pushes_to_lose_;
        return false;
    }
    found->second.push(event);
    return true;
}

// A watcher whose push is lost stays in the list: it is told after the next change or at the next
// heartbeat.
void memory_state::tell_watchers() {
    std::erase_if(watchers_, [this](const auto& each) {
        if (each.second == rows_.changes)
            return false;
        store_event event;
        event.type = store_event::kind::changed;
        return push(each.first, event);
    });
}

// Frees a portion of what the dead had, and of the grants whose time is over.
// @return whether anything is left to free.
bool memory_state::reap_some() {
    std::vector<session_key> expired;
    for (const auto& [key, session] : rows_.sessions) {
        if (core::is_over(session.deadline, rows_.now))
            expired.push_back(key);
    }
    for (const session_key key : expired)
        rows_.mark_dead(key);
    std::erase_if(keys_, [&](const auto& each) { return !rows_.sessions.contains(each.second); });
    lock_engine engine(rows_, rows_.now);
    std::size_t budget = reaped_at_once;
    const bool none_ended = engine.expire(budget);
    while (budget != 0 && !rows_.dead.empty())
        engine.reap(*rows_.dead.begin(), budget);
    finish(engine, 0, {});
    return !none_ended || !rows_.dead.empty();
}

// Frees all that the dead had. Between two portions others may come in.
void memory_state::reap_all() {
    for (bool more = true; more;) {
        const std::lock_guard guard(mutex_);
        rows_.now = now();
        more = reap_some();
    }
}

void memory_state::wake_after_quarantine() {
    if (quarantine_over_ || rows_.quarantined())
        return;
    quarantine_over_ = true;
    std::vector<std::string> names;
    for (const auto& [name, lock] : rows_.locks)
        names.push_back(name);
    lock_engine engine(rows_, rows_.now);
    for (const auto& name : names)
        engine.advance(name);
    finish(engine, 0, {});
}

result<resumed> memory_state::resume(const session_start& start, push_function push) {
    const std::lock_guard guard(mutex_);
    if (unavailable_)
        return error_code(errc::store_unavailable);
    rows_.now = now();
    wake_after_quarantine();
    std::optional<core::session_terms> known;
    if (const auto found = keys_.find(start.id); found != keys_.end())
        known = rows_.terms_of(found->second).value_or(core::session_terms{});
    session_key key = 0;
    switch (core::judge_resume(known, start.generation, rows_.now)) {
    case core::resumption::begins:
        key = ++rows_.last_key;
        keys_[start.id] = key;
        rows_.sessions[key] = {};
        break;
    case core::resumption::goes_on:
        key = keys_[start.id];
        break;
    case core::resumption::refused:
        // Also reaps a session that is over.
        return enter(start.id, start.generation).error();
    }
    auto& session = rows_.sessions[key];
    session.start = start;
    session.push = std::move(push);
    rows_.prove(key);
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    resumed reply;
    reply.incarnation = incarnation_;
    reply.domain = domain_;
    reply.view = view_of(key);
    reply.quarantine = core::quarantine_left(rows_.quarantine_until, rows_.now);
    return reply;
}

error_code memory_state::end(const session_id& session) {
    {
        const std::lock_guard guard(mutex_);
        if (unavailable_)
            return errc::store_unavailable;
        mark_dead(session);
    }
    reap_all();
    const std::lock_guard guard(mutex_);
    return lose_reply() ? error_code(errc::outcome_unknown) : error_code();
}

void memory_state::mark_dead(const session_id& session) {
    const auto found = keys_.find(session);
    if (found == keys_.end())
        return;
    rows_.mark_dead(found->second);
    keys_.erase(found);
}

result<answer>
memory_state::ask(lock_engine& engine, session_key session, const lock_request& request) {
    auto reply = engine.request(session, request);
    if (reply && reply->token)
        reply->token.domain = domain_.of_slot(reply->slot);
    return reply;
}

result<answer> memory_state::request(
    const session_id& session, std::uint64_t generation, const lock_request& request
) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    lock_engine engine(rows_, rows_.now);
    auto reply = ask(engine, *key, request);
    finish(engine, *key, {&request.id, 1});
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    return reply;
}

result<answers_in_order> memory_state::request_in_order(
    const session_id& session, std::uint64_t generation, const std::vector<lock_request>& requests
) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    lock_engine engine(rows_, rows_.now);
    answers_in_order answers;
    std::vector<request_id> answered;
    for (const auto& each : requests) {
        answered.push_back(each.id);
        answers.push_back(ask(engine, *key, each));
        if (!answers.back() || answers.back()->type != answer::kind::granted)
            break;
    }
    finish(engine, *key, answered);
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    return answers;
}

error_code memory_state::withdraw(
    const session_id& session, std::uint64_t generation, const std::string& name, request_id id
) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    lock_engine engine(rows_, rows_.now);
    engine.withdraw(*key, name, id);
    finish(engine, 0, {});
    return lose_reply() ? error_code(errc::outcome_unknown) : error_code();
}

bool memory_state::let_go(lock_engine& engine, session_key session, const grant& held) {
    const auto slot = held.token.domain.slot_in(domain_);
    bool released = slot && engine.release(session, {held.name, held.id, held.token.value, *slot});
    if (MORTISE_PLANTED(release_without_compare) && !released) {
        for (const auto& holder : rows_.holders(held.name))
            released =
                engine.release(holder.session, {held.name, holder.id, holder.token, holder.slot});
    }
    return released;
}

result<bool>
memory_state::release(const session_id& session, std::uint64_t generation, const grant& held) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    lock_engine engine(rows_, rows_.now);
    const bool released = let_go(engine, *key, held);
    finish(engine, 0, {});
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    return released;
}

released_and_asked memory_state::release_and_request(
    const session_id& session,
    std::uint64_t generation,
    const grant& held,
    const lock_request& request
) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return released_and_asked(key.error());
    lock_engine engine(rows_, rows_.now);
    released_and_asked both;
    both.released = let_go(engine, *key, held);
    both.asked = ask(engine, *key, request);
    finish(engine, *key, {&request.id, 1});
    if (lose_reply())
        return released_and_asked(errc::outcome_unknown);
    return both;
}

result<token_range>
memory_state::draw(const session_id& session, std::uint64_t generation, const grant& held) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    lock_engine engine(rows_, rows_.now);
    const auto slot = held.token.domain.slot_in(domain_);
    const auto base =
        slot ? engine.draw(
                   *key, {held.name, held.id, held.token.value, *slot}, store_detail::bases_drawn
               )
             : error_code(errc::lease_lost);
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    if (!base)
        return base.error();
    return store_detail::tokens_of(*base, held.token.domain);
}

result<std::chrono::milliseconds> memory_state::extend(
    const session_id& session,
    std::uint64_t generation,
    const grant& held,
    std::chrono::milliseconds hold_max
) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    lock_engine engine(rows_, rows_.now);
    const auto slot = held.token.domain.slot_in(domain_);
    const auto kept =
        slot ? engine.extend(*key, {held.name, held.id, held.token.value, *slot}, hold_max)
             : error_code(errc::lease_lost);
    finish(engine, 0, {});
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    return kept;
}

result<heartbeat> memory_state::beat(const session_id& session, std::uint64_t generation) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key && MORTISE_PLANTED(heartbeat_revives)) {
        heartbeat good;
        good.incarnation = incarnation_;
        return good;
    }
    if (!key)
        return key.error();
    rows_.prove(*key);
    auto& own = rows_.sessions[*key];
    if (MORTISE_PLANTED(session_cut_short))
        own.deadline -= own.start.ttl / 10;
    const bool more = reap_some();
    tell_watchers();
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    heartbeat reply;
    reply.incarnation = incarnation_;
    reply.changes = own.changes;
    reply.grants = own.grants;
    reply.requests = own.requests;
    core::next_deadline next(rows_.now);
    for (const auto& [other, state] : rows_.sessions) {
        if (other != *key)
            next.consider(state.deadline);
    }
    next.consider(rows_.next_end(*key));
    if (more)
        next.consider(rows_.now);
    reply.quarantine = core::quarantine_left(rows_.quarantine_until, rows_.now);
    if (reply.quarantine > clock::duration::zero())
        next.consider(rows_.quarantine_until);
    reply.next_deadline = next.left();
    return reply;
}

result<session_view> memory_state::look(const session_id& session, std::uint64_t generation) {
    const std::lock_guard guard(mutex_);
    const auto key = enter(session, generation);
    if (!key)
        return key.error();
    if (lose_reply())
        return error_code(errc::outcome_unknown);
    return view_of(*key);
}

void memory_state::closed(const session_id& session) noexcept {
    {
        const std::lock_guard guard(mutex_);
        if (!keys_.contains(session))
            return;
        mark_dead(session);
    }
    reap_all();
}

void memory_state::lose_replies(std::size_t count) {
    const std::lock_guard guard(mutex_);
    replies_to_lose_ = count;
}

void memory_state::lose_pushes(std::size_t count) {
    const std::lock_guard guard(mutex_);
    pushes_to_lose_ = count;
}

void memory_state::set_unavailable(bool unavailable) {
    const std::lock_guard guard(mutex_);
    unavailable_ = unavailable;
}

void memory_state::set_unreachable(const session_id& session, bool unreachable) {
    const std::lock_guard guard(mutex_);
    const auto found = keys_.find(session);
    if (found == keys_.end() || !rows_.sessions.contains(found->second))
        return;
    rows_.sessions[found->second].unreachable = unreachable;
    if (unreachable)
        return;
    // While the session was unreachable, free locks were not granted to it: grant them now.
    rows_.now = now();
    lock_engine engine(rows_, rows_.now);
    for (const auto& entry : view_of(found->second).entries)
        engine.advance(entry.name);
    finish(engine, 0, {});
}

void memory_state::restart(bool with_memory) {
    const std::lock_guard guard(mutex_);
    incarnation_ = random_id::draw();
    store_event event;  // `look_again`
    for (auto& [key, session] : rows_.sessions)
        session.push(event);
    if (with_memory)
        return;
    rows_.clear();
    watchers_.clear();
    keys_.clear();
    if (MORTISE_PLANTED(tokens_start_again))
        rows_.last_base = 0;
    if (!MORTISE_PLANTED(restart_without_quarantine)) {
        rows_.now = now();
        const auto longest = rows_.longest_ttl();
        rows_.quarantine_until =
            core::quarantine_end(core::deadline_after(rows_.now, longest), longest, rows_.now);
        quarantine_over_ = false;
    }
}

std::size_t memory_state::sessions() const {
    const std::lock_guard guard(mutex_);
    return rows_.sessions.size() + rows_.dead.size();
}

std::size_t memory_state::entries() const {
    const std::lock_guard guard(mutex_);
    return rows_.places.size();
}

}  // namespace mortise::detail
