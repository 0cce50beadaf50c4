// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/commit_news.hpp"

#include "sqlite/sockets.hpp"

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::remove_sockets;

using core::effect;
using core::session_key;

namespace {

hint::kind hint_for(effect::kind kind) noexcept {
    if (kind == effect::kind::granted)
        return hint::kind::granted;
    return kind == effect::kind::contended ? hint::kind::contended : hint::kind::changed;
}

notice notice_of(const effect& effect) {
    notice event;
    event.kind = effect.type;
    event.id = effect.id;
    event.token = effect.token;
    event.slot = effect.slot;
    event.contended = effect.contended;
    return event;
}

}  // namespace

void commit_news::committed(
    const std::vector<effect>& effects, const sql_rows& rows, const own_session* own
) {
    note(effects);
    clean_up(rows.buried(), own);
    if (rows.changed_locks())
        wake_watchers();
}

// Notes grants in the slots, under the lock and after the commit: whoever gets a hint need not ask
// the database.
void commit_news::note(const std::vector<effect>& effects) {
    auto& slots = *files_.slots();
    for (const auto& each : effects) {
        if (each.type == effect::kind::look_again)
            continue;
        const auto place = index_.find(files_.db(), slots, each.to);
        if (place && each.type == effect::kind::granted)
            slots.note_grant(place->slot, each.id, {each.token, each.slot, each.contended});
        else if (place)
            slots.note_contended(place->slot, each.id);
    }
    files_.db().forgive();
}

// Frees the slots of buried sessions, under the lock and after the commit: they have no rows any
// longer.
void commit_news::clean_up(
    const std::vector<buried_session>& buried, const own_session* own
) noexcept {
    auto& slots = *files_.slots();
    for (const auto& each : buried) {
        others_died_ = others_died_ || !own || each.key != own->key();
        if (!each.has_slot || slots.view(each.slot).key != each.key)
            continue;
        // Its process may be alive and not know of its end yet.
        sender_->send(*files_.folder(), each.nonce, {hint::kind::changed, each.key, 0});
        slots.free(each.slot);
        remove_sockets(*files_.folder(), each.nonce);
    }
}

// Tells the watchers, under the lock and after the commit. This store's own client hears of it in
// the same way.
void commit_news::wake_watchers() {
    for (const std::size_t i : files_.slots()->disarm_all()) {
        const slot_view seen = files_.slots()->view(i);
        sender_->send(*files_.folder(), seen.nonce, {hint::kind::stirred, seen.key, 0});
    }
}

void commit_news::tell(
    const std::vector<effect>& effects,
    std::span<lock_operation* const> done,
    const own_session* own,
    std::vector<notice>& notices
) {
    tell_effects(effects, done, own, notices);
    remind_holders(effects, own, notices);
}

void commit_news::tell_effects(
    const std::vector<effect>& effects,
    std::span<lock_operation* const> done,
    const own_session* own,
    std::vector<notice>& notices
) {
    // The answer to a request reports its grant, so no notice is needed.
    const auto answered = [done](const effect& effect) {
        return effect.type == effect::kind::granted &&
               std::any_of(done.begin(), done.end(), [&](const lock_operation* each) {
                   return each->grants(effect.id);
               });
    };
    const session_key self = own ? own->key() : 0;
    constexpr std::ptrdiff_t single_max = 4;  // A queue of datagrams may be as short as ten.
    std::vector<session_key> notified;
    for (const auto& each : effects) {
        if (each.to == self) {
            if (!answered(each))
                notices.push_back(notice_of(each));
            continue;
        }
        const auto before = std::count(notified.begin(), notified.end(), each.to);
        notified.push_back(each.to);
        if (before == single_max)
            send(each.to, hint::kind::changed, 0);
        if (before >= single_max)
            continue;
        send(each.to, hint_for(each.type), each.id);
        const bool says_both = each.type == effect::kind::granted && each.contended;
        if (says_both && !is_noted(each))
            send(each.to, hint::kind::contended, each.id);
    }
}

// A slot has the newest grant only. The receiver reads an older one from the database, where those
// who tried in vain leave no trace.
bool commit_news::is_noted(const effect& grant) {
    const auto place = index_.find(files_.db(), *files_.slots(), grant.to);
    files_.db().forgive();
    return place && files_.slots()->find_grant(place->slot, grant.id);
}

// Repeats the hints of all noted grants after a session died, since it may have died between a
// commit and its hints. Those whom it granted a lock learn of it so; to all others it is nothing
// new, and costs them no transaction.
void commit_news::remind_holders(
    const std::vector<effect>& effects, const own_session* own, std::vector<notice>& notices
) {
    if (!std::exchange(others_died_, false))
        return;
    const auto& slots = *files_.slots();
    for (std::size_t i = 0; i < slots.used(); ++i) {
        const request_id id = slots.noted_request(i);
        const slot_view seen = slots.view(i);
        const bool is_news = std::any_of(effects.begin(), effects.end(), [&](const effect& each) {
            return each.type == effect::kind::granted && each.to == seen.key && each.id == id;
        });
        if (id == 0 || seen.key == 0 || seen.word.dead() || is_news)
            continue;
        if (!own || own->self().slot != i) {
            sender_->send(*files_.folder(), seen.nonce, {hint::kind::granted, seen.key, id});
        } else if (const auto noted = slots.find_grant(i, id)) {
            notice again;
            again.kind = store_event::kind::granted;
            again.id = id;
            again.token = noted->token;
            again.slot = noted->slot;
            again.contended = noted->contended;
            notices.push_back(again);
        }
    }
}

void commit_news::send(session_key to, hint::kind kind, request_id id) {
    const auto place = index_.find(files_.db(), *files_.slots(), to);
    files_.db().forgive();  // A hint that is not sent is only late.
    if (place)
        sender_->send(*files_.folder(), place->nonce, {kind, to, id});
}

void commit_news::announce(const own_session& session) {
    for (const auto& each : session.predecessors())
        sender_->send(session.folder(), each.nonce, {hint::kind::neighbours, each.key, 0});
}

}  // namespace mortise::store_detail
