// SPDX-License-Identifier: BSL-1.0
// The short ways, with the conditions of the statements of the facts on SQL locks.
#include "sql_model/sql_tables.hpp"

#include <algorithm>
#include <utility>

namespace mortise::sql_model {

using store_detail::sql_actor;
using store_detail::sql_left;
using store_detail::sql_push;
using store_detail::sql_stamp;
using store_detail::sql_taken;

result<sql_taken> sql_tables::take(
    clock::time_point now,
    sql_actor actor,
    const std::string& name,
    request_id id,
    bool join,
    sql_stamp stamp
) {
    sql_taken reply;
    if (!able(actor.key, now) || !acts(actor, now))
        return reply;
    stored_lock lock;
    if (const auto found = locks_.find(name); found != locks_.end())
        lock = found->second;
    auto& row = lock.row;
    if (row.rest != 0 || row.stamp == stamp || !free_for(lock, 0, now))
        return reply;
    if (row.holder == 0) {
        if (row.queue != 0)
            return reply;
        row.base = next_base(lock, now);
        row.holder = actor.key;
        row.request = id;
        reply.granted = true;
    } else {
        if (!join || !able(row.holder, now))
            return reply;
        ++row.queue;
        reply.ordinal = ++row.last;
        const bool known = others_wait(lock);
        core::lock_entry waiter;
        waiter.name = name;
        waiter.ordinal = row.last;
        waiter.session = actor.key;
        waiter.id = id;
        waiter.since = now;
        lock.entries[waiter.ordinal] = waiter;
        if (row.holder != actor.key && !known) {
            ++sessions_.at(row.holder).changes;
            sql_push push;
            push.type = store_event::kind::contended;
            push.to = row.holder;
            push.id = row.request;
            push.token = row.base << fencing_token::sequence_bits;
            push.contended = true;
            notify_(push);
        }
    }
    row.stamp = stamp;
    reply.apt = true;
    reply.base = row.base;
    reply.queue = row.queue;
    locks_[name] = std::move(lock);
    return reply;
}

bool sql_tables::others_wait(const stored_lock& lock) {
    return std::any_of(lock.entries.begin(), lock.entries.end(), [&](const auto& each) {
        return each.second.session != lock.row.holder;
    });
}

// The condition `MINE` of the facts, and that the session may still act: the general way then says
// that it is lost.
sql_tables::stored_lock* sql_tables::held_plainly(
    clock::time_point now,
    sql_actor actor,
    const std::string& name,
    request_id id,
    std::uint64_t base
) {
    const auto found = locks_.find(name);
    if (found == locks_.end() || !acts(actor, now) || watched_ != 0)
        return nullptr;
    const auto& row = found->second.row;
    const bool mine = row.holder == actor.key && row.request == id && row.base == base;
    return mine && row.rest == 0 && free_for(found->second, 0, now) ? &found->second : nullptr;
}

result<bool> sql_tables::release(
    clock::time_point now,
    sql_actor actor,
    const std::string& name,
    request_id id,
    std::uint64_t base,
    sql_stamp stamp
) {
    auto* const lock = held_plainly(now, actor, name, id, base);
    if (!lock || lock->row.queue != 0)
        return false;
    lock->row.stamp = stamp;
    lock->row.holder = 0;
    return true;
}

result<bool> sql_tables::pass_on(
    clock::time_point now,
    sql_actor actor,
    const std::string& name,
    request_id id,
    std::uint64_t base,
    sql_stamp stamp
) {
    auto* const lock = held_plainly(now, actor, name, id, base);
    if (!lock)
        return false;
    const auto next = std::find_if(lock->entries.begin(), lock->entries.end(), [&](const auto& at) {
        return able(at.second.session, now);
    });
    auto& row = lock->row;
    if (next == lock->entries.end() && row.queue != 0)
        return false;
    row.stamp = stamp;
    row.holder = 0;
    if (next == lock->entries.end())
        return true;
    row.holder = next->second.session;
    row.request = next->second.id;
    row.base = next_base(*lock, now);
    --row.queue;
    lock->entries.erase(next);
    ++sessions_.at(row.holder).changes;
    sql_push push;
    push.type = store_event::kind::granted;
    push.to = row.holder;
    push.id = row.request;
    push.token = row.base << fencing_token::sequence_bits;
    push.contended = others_wait(*lock);
    notify_(push);
    return true;
}

result<sql_left> sql_tables::withdraw(
    clock::time_point now,
    sql_actor actor,
    const std::string& name,
    request_id id,
    std::uint64_t ordinal,
    sql_stamp stamp
) {
    sql_left reply;
    const auto found = locks_.find(name);
    if (found == locks_.end() || !acts(actor, now) || watched_ != 0)
        return reply;
    stored_lock& lock = found->second;
    if (lock.row.rest != 0 || !free_for(lock, 0, now))
        return reply;
    const auto waiter = lock.entries.find(ordinal);
    if (waiter != lock.entries.end() && waiter->second.session == actor.key &&
        waiter->second.id == id) {
        lock.entries.erase(waiter);
        --lock.row.queue;
        lock.row.stamp = stamp;
        reply.erased = true;
    }
    reply.granted = lock.row.holder == actor.key && lock.row.request == id;
    reply.base = lock.row.base;
    return reply;
}

}  // namespace mortise::sql_model
