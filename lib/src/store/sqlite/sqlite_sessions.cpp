// SPDX-License-Identifier: BSL-1.0
#include "core/session_rules.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/sqlite_state.hpp"

#include <sqlite3.h>

#include <optional>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::failure_of;
using sqlite_detail::folder_guard;
using sqlite_detail::make_sockets;
using sqlite_detail::remove_sockets;
using sqlite_detail::sqlite_db;
using sqlite_detail::sqlite_query;
using sqlite_detail::transaction_scope;
using sqlite_detail::whereabouts;

using core::lock_engine;
using core::session_key;

namespace {

std::optional<std::size_t> free_slot(const slot_file& slots) noexcept {
    for (std::size_t i = 0; i < slot_file::capacity; ++i) {
        const slot_view seen = slots.view(i);
        if (seen.word.dead() && seen.key == 0)
            return i;
    }
    return std::nullopt;
}

// Whether the session of a slot has a row that names this slot; it has none if the slot was claimed
// and the claim never committed.
bool has_row(sqlite_db& db, std::size_t slot, const slot_view& seen) {
    sqlite_query query(db, "SELECT slot, nonce FROM session WHERE key = ?");
    return query.bind(seen.key).step() && query.number(0) == slot && query.number(1) == seen.nonce;
}

// The names of some locks that somebody holds or waits for, in order.
std::vector<std::string> names_after(sqlite_db& db, const std::string& after, std::size_t limit) {
    std::vector<std::string> names;
    sqlite_query query(db, "SELECT DISTINCT name FROM entry WHERE name > ? ORDER BY name LIMIT ?");
    query.bind(after).bind(std::uint64_t{limit});
    while (query.step())
        names.push_back(query.bytes(0));
    return names;
}

}  // namespace

outcome<opened_session> sqlite_state::resume(const session_start& start) {
    // Another store may lie there now: begin with it as if nothing had been. This comes before
    // anything is opened again, which the replaced files may no longer allow.
    if (files_.where() == whereabouts::other) {
        abandon_session(session());
        close_all();
    }
    return guarded<opened_session>([&](outcome<opened_session>& out) -> error_code {
        const auto own = session();
        std::optional<core::session_terms> known;
        if (own && own->id() == start.id)
            known = own->terms(generation_);
        switch (core::judge_resume(known, start.generation, now())) {
        case core::resumption::begins:
            abandon_session(own);
            reap_all(out.notices);
            start_session(start, out.value);
            break;
        case core::resumption::goes_on:
            if (const error_code refused = prove_again(own, start, out.value))
                return refused;
            break;
        case core::resumption::refused:
            return errc::session_lost;
        }
        out.value.reply.incarnation = files_.identity().incarnation;
        out.value.reply.domain = domain_;
        out.value.reply.quarantine = quarantine_left();
        return {};
    });
}

// Declares a session dead that the client has given up.
void sqlite_state::abandon_session(const std::shared_ptr<own_session>& session) noexcept {
    if (!session)
        return;
    session->kill();
    const std::lock_guard guard(mutex_);
    if (session_ == session)
        session_.reset();
}

void sqlite_state::start_session(const session_start& start, opened_session& opened) {
    const random_id random = random_id::draw();
    const std::uint64_t nonce = random.high;
    const auto folder = files_.folder();
    const auto slots = files_.slots();
    {
        // The lock is held from the first file to the last word, since whoever finds nobody alive
        // sweeps the folder. The socket listens before anybody can know of it, since silence would
        // mean death.
        const folder_guard guard(*folder);
        opened.sockets = make_sockets(*folder, nonce);
        try {
            opened.reply.sent = now();
            const neighbour self = insert_session(start, nonce, opened.reply.sent);
            const slot_word before = slots->word(self.slot);
            const slot_word word = before.next(
                slot_word::microseconds_until(coro::saturating_add(opened.reply.sent, start.ttl))
            );
            slots->swap(self.slot, before, word);
            opened.session = std::make_shared<own_session>(
                files_.path(), files_.owner(), folder, slots, start, self, word
            );
        } catch (...) {
            remove_sockets(*folder, nonce);
            throw;
        }
    }
    generation_ = start.generation;
    opened.is_new = true;
    bool unwanted = false;
    {
        const std::lock_guard guard(mutex_);
        unwanted = abandoned_;
        session_ = opened.session;
    }
    if (unwanted)
        abandon();
    else
        news_.announce(*opened.session);
}

// Writes the row and the slot, under the lock. The word of the slot is still dead afterwards.
neighbour sqlite_state::insert_session(
    const session_start& start, std::uint64_t nonce, clock::time_point at
) {
    auto& db = files_.db();
    auto& slots = *files_.slots();
    const auto slot = free_slot(slots);
    if (!slot) {
        throw error(
            errc::too_many_sessions,
            files_.path(),
            "a store has room for " + std::to_string(slot_file::capacity) +
                " clients: share one client per process"
        );
    }
    const transaction_scope scope(db);
    if (!db.step("BEGIN IMMEDIATE"))
        fail();
    sqlite_query(
        db,
        "INSERT INTO session(id, generation, slot, nonce, pid, host, label, ttl_ms, started)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
        .bind(start.id)
        .bind(start.generation)
        .bind(std::uint64_t{*slot})
        .bind(nonce)
        .bind_signed(start.pid)
        .bind_text(start.host)
        .bind_text(start.label)
        .bind_signed(start.ttl.count())
        .bind_signed(at.time_since_epoch().count())
        .step();
    sqlite_query(db, "UPDATE meta SET ttl_max_ms = ?1 WHERE ttl_max_ms < ?1")
        .bind_signed(start.ttl.count())
        .step();
    neighbour self;
    self.slot = *slot;
    self.incarnation = slots.word(*slot).next(1).incarnation();
    self.nonce = nonce;
    self.key = static_cast<session_key>(::sqlite3_last_insert_rowid(db.handle()));
    if (db.failed())
        fail();
    slots.claim(*slot, self.key, nonce);
    if (!db.step("COMMIT")) {
        slots.free(*slot);
        give_up_connection();
    }
    return self;
}

error_code sqlite_state::prove_again(
    const std::shared_ptr<own_session>& own, const session_start& start, opened_session& opened
) {
    own->set_ttl(start.ttl);
    const auto sent = now();
    if (!own->extend(sent))
        return errc::session_lost;
    std::vector<notice> none;
    const error_code code = transact(own->key(), {}, none, [&](lock_engine&, sql_rows&) {
        if (const error_code refused = check_actor(*own))
            return refused;
        sqlite_query query(
            files_.db(), "UPDATE session SET generation = ?, ttl_ms = ? WHERE key = ?"
        );
        query.bind(start.generation).bind_signed(start.ttl.count()).bind(own->key()).step();
        return error_code();
    });
    if (code)
        return code;
    generation_ = start.generation;
    opened.reply.sent = sent;
    opened.reply.view = view_of(*own);
    opened.session = own;
    return {};
}

outcome<nothing> sqlite_state::end() {
    const auto own = session();
    if (!own)
        return {};
    return guarded<nothing>([&](outcome<nothing>& out) {
        // Death first: if this is not finished, anybody can finish it.
        own->kill();
        reap_all(out.notices);
        abandon_session(own);
        if (alone()) {
            const folder_guard guard(*files_.folder());
            if (alone())
                files_.db().checkpoint(true);
        }
        return error_code();
    });
}

bool sqlite_state::alone() const noexcept {
    const auto& slots = *files_.slots();
    for (std::size_t i = 0; i < slots.used(); ++i) {
        if (!slots.word(i).dead())
            return false;
    }
    return true;
}

outcome<bool> sqlite_state::reap(const std::vector<neighbour>& proved_dead) {
    return guarded<bool>([&](outcome<bool>& out) {
        out.value = reap_some(proved_dead, out.notices);
        wake_after_quarantine(out.notices);
        return error_code();
    });
}

// Between two transactions other processes come to the store.
void sqlite_state::reap_all(std::vector<notice>& notices) {
    while (reap_some({}, notices)) {
    }
}

// @return whether anything is left to reap.
bool sqlite_state::reap_some(
    const std::vector<neighbour>& proved_dead, std::vector<notice>& notices
) {
    auto& slots = *files_.slots();
    for (const auto& each : proved_dead) {
        // The proof may be about a slot of another file, which was in this place.
        const slot_view seen = slots.view(each.slot);
        if (seen.key == each.key && seen.nonce == each.nonce)
            slots.kill(each.slot, each.incarnation);
    }
    const auto own = session();
    const auto at = now();
    std::vector<std::size_t> dead;
    std::vector<session_key> ended;  // sessions with a grant whose time is over
    for (std::size_t i = 0; i < slots.used(); ++i) {
        const slot_view seen = slots.view(i);
        if (seen.word.dead() && seen.key == 0)
            continue;
        // This process's own session may be late, but it is alive.
        const bool own_slot = own && own->self().slot == i;
        if (seen.word.dead() ||
            (!own_slot && seen.word.expired(at) && slots.swap(i, seen.word, seen.word.killed())))
            dead.push_back(i);
        else if (seen.ends != clock::time_point() && seen.ends <= at)
            ended.push_back(seen.key);
    }
    if (dead.empty() && ended.empty())
        return false;
    bool done = false;
    serve(notices, [&](lock_engine& engine, sql_rows& rows) {
        // A process that died halfway may have left a wrong end: put it right.
        for (const session_key key : ended)
            rows.refresh_ends(key);
        std::size_t budget = reaped_at_once;
        done = engine.expire(budget);
        for (const std::size_t i : dead) {
            // Others may have been faster, and the slot may have another owner by now.
            const slot_view seen = slots.view(i);
            if (!seen.word.dead() || seen.key == 0)
                continue;
            if (has_row(files_.db(), i, seen))
                done = engine.reap(seen.key, budget) && done;
            else
                rows.bury_slot({seen.key, i, seen.nonce, true});
        }
        return error_code();
    });
    return !done;
}

clock::duration sqlite_state::quarantine_left() const {
    return core::quarantine_left(files_.quarantine_until(), now());
}

// Grants to all who wait once the quarantine is over, since nothing else would.
void sqlite_state::wake_after_quarantine(std::vector<notice>& notices) {
    if (quarantine_over_ || now() < files_.quarantine_until())
        return;
    std::vector<std::string> names;
    std::string after;
    do {
        serve(notices, [&](lock_engine& engine, sql_rows&) {
            names = names_after(files_.db(), after, reaped_at_once);
            for (const auto& name : names)
                engine.advance(name);
            return error_code();
        });
        after = names.empty() ? after : names.back();
    } while (names.size() == reaped_at_once);
    quarantine_over_ = true;
    quarantine_until_ = 0;
}

}  // namespace mortise::store_detail
