// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/sqlite_state.hpp"

#include "base/as_killed.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/break_note.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::failure_of;
using sqlite_detail::folder_guard;
using sqlite_detail::poisons;
using sqlite_detail::remedy_of;
using sqlite_detail::remove_sockets;
using sqlite_detail::sqlite_query;
using sqlite_detail::transaction_scope;

using core::effect;
using core::lock_engine;
using core::session_key;

namespace {

hint::kind hint_for(effect::kind kind) noexcept {
    switch (kind) {
    case effect::kind::granted:
        return hint::kind::granted;
    case effect::kind::contended:
        return hint::kind::contended;
    case effect::kind::look_again:
        break;
    }
    return hint::kind::changed;
}

notice notice_of(const effect& effect) {
    notice event;
    event.id = effect.id;
    event.token = effect.token;
    event.slot = effect.slot;
    event.contended = effect.contended;
    switch (effect.type) {
    case effect::kind::granted:
        event.kind = store_event::kind::granted;
        break;
    case effect::kind::contended:
        event.kind = store_event::kind::contended;
        break;
    case effect::kind::look_again:
        event.kind = store_event::kind::look_again;
        break;
    }
    return event;
}

}  // namespace

sqlite_state::sqlite_state(sqlite_store_config config, std::shared_ptr<coro::time_source> time)
    : time_(std::move(time)), files_(std::move(config)) {
    checkpoint_at_ = files_.checkpoint_bytes();
}

void sqlite_state::open_if_needed(std::vector<notice>& notices) {
    const bool first = !files_.is_open();
    if (!files_.open(now()))
        return;
    index_.clear();
    if (!first) {
        // The connection was given up halfway: nothing that was seen is certain.
        notices.emplace_back();
        return;
    }
    domain_ = *token_domain::parse(files_.identity().domain);
    hint_sender_.emplace(*files_.folder());
    quarantine_until_ = files_.quarantine_until().time_since_epoch().count();
    quarantine_over_ = now() >= files_.quarantine_until();
}

void sqlite_state::close_all() noexcept {
    index_.clear();
    files_.close();
}

void sqlite_state::remember(const error& why) {
    const std::lock_guard guard(mutex_);
    explanation_ = why.what();
}

std::string sqlite_state::explain() const {
    const std::lock_guard guard(mutex_);
    return explanation_;
}

std::shared_ptr<own_session> sqlite_state::session() const {
    const std::lock_guard guard(mutex_);
    return session_;
}

clock::time_point sqlite_state::quarantine_until() const noexcept {
    return clock::time_point(clock::duration(quarantine_until_.load()));
}

// Throws what the connection's first failure means, and gives up a connection that can no longer be
// believed.
void sqlite_state::fail() {
    const error why = failure_of(files_.db(), files_.path());
    const bool lost = poisons(files_.db().code());
    files_.db().roll_back();
    if (lost || files_.db().in_transaction()) {
        files_.close_database();
        index_.clear();
    } else {
        files_.db().forgive();
    }
    throw why;
}

// Runs one transaction of one session, or of nobody, and does what follows from it.
error_code sqlite_state::transact(
    session_key actor,
    std::span<lock_operation* const> done,
    std::vector<notice>& notices,
    const work& body
) {
    std::vector<effect> effects;
    error_code code;
    bool again = true;
    {
        const folder_guard guard(*files_.folder());
        constexpr int blocks_max = 16;  // of tokens that one transaction may use up
        for (int i = 0; again && i < blocks_max; ++i)
            code = attempt(actor, body, effects, again);
    }
    if (again)
        return errc::store_full;
    try {
        tell(effects, done, notices);
        remind_holders(effects, notices);
        checkpoint_if_due();
    } catch (const error& why) {
        remember(why);  // The commit stands, whether or not anybody could be told.
    }
    return code;
}

void sqlite_state::serve(std::vector<notice>& notices, const work& body) {
    if (const error_code failed = transact(0, {}, notices, body))
        throw error(failed, files_.path(), remedy_of(errc::store_full));
}

error_code sqlite_state::attempt(
    session_key actor, const work& body, std::vector<effect>& effects, bool& again
) {
    auto& db = files_.db();
    const transaction_scope scope(db);
    not_begun_ = !db.step("BEGIN IMMEDIATE") && (db.code() & 0xff) == SQLITE_BUSY;
    if (db.failed())
        fail();
    const auto at = now();
    sql_rows rows(db, *files_.slots(), index_, actor, at);
    lock_engine engine(rows, at);
    const error_code refused = body(engine, rows);
    again = rows.tokens_used_up();
    if (again) {
        db.roll_back();
        if (!reserve_tokens(db))
            fail();
        return {};
    }
    if (db.failed())
        fail();
    if (refused)
        return refused;
    rows.publish();
    if (db.failed() || !db.step("COMMIT")) {
        rows.retract();
        const error why = failure_of(db, files_.path());
        // Nobody knows whether the commit is in the log: only a new connection will see.
        files_.close_database();
        index_.clear();
        throw why;
    }
    effects = engine.take_effects();
    rows.settle();
    note(effects);
    clean_up(rows.buried());
    if (rows.changed_locks())
        wake_watchers();
    return {};
}

// Notes grants in the slots, under the lock and after the commit: whoever gets a hint need not ask
// the database.
void sqlite_state::note(const std::vector<effect>& effects) {
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
void sqlite_state::clean_up(const std::vector<buried_session>& buried) noexcept {
    auto& slots = *files_.slots();
    const auto own = session();
    for (const auto& each : buried) {
        others_died_ = others_died_ || !own || each.key != own->key();
        if (!each.has_slot || slots.view(each.slot).key != each.key)
            continue;
        // Its process may be alive and not know of its end yet.
        hint_sender_->send(*files_.folder(), each.nonce, {hint::kind::changed, each.key, 0});
        slots.free(each.slot);
        remove_sockets(*files_.folder(), each.nonce);
    }
}

// Tells the watchers, under the lock and after the commit. This store's own client hears of it in
// the same way.
void sqlite_state::wake_watchers() {
    for (const std::size_t i : files_.slots()->disarm_all()) {
        const slot_view seen = files_.slots()->view(i);
        hint_sender_->send(*files_.folder(), seen.nonce, {hint::kind::stirred, seen.key, 0});
    }
}

void sqlite_state::tell(
    const std::vector<effect>& effects,
    std::span<lock_operation* const> done,
    std::vector<notice>& notices
) {
    // The answer to a request reports its grant, so no notice is needed.
    const auto answered = [done](const effect& effect) {
        return effect.type == effect::kind::granted &&
               std::any_of(done.begin(), done.end(), [&](const lock_operation* each) {
                   return each->granted() == effect.id;
               });
    };
    const auto own = session();
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
        if (before < single_max)
            send(each.to, hint_for(each.type), each.id);
        else if (before == single_max)
            send(each.to, hint::kind::changed, 0);
    }
}

// Repeats the hints of all noted grants after a session died, since it may have died between a
// commit and its hints. Those whom it granted a lock learn of it so; to all others it is nothing
// new, and costs them no transaction.
void sqlite_state::remind_holders(
    const std::vector<effect>& effects, std::vector<notice>& notices
) {
    if (!std::exchange(others_died_, false))
        return;
    const auto own = session();
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
            hint_sender_->send(*files_.folder(), seen.nonce, {hint::kind::granted, seen.key, id});
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

void sqlite_state::send(session_key to, hint::kind kind, request_id id) {
    const auto place = index_.find(files_.db(), *files_.slots(), to);
    files_.db().forgive();  // A hint that is not sent is only late.
    if (place)
        hint_sender_->send(*files_.folder(), place->nonce, {kind, to, id});
}

void sqlite_state::checkpoint_if_due() {
    auto& db = files_.db();
    if (!db.is_open() || db.log_bytes() < checkpoint_at_)
        return;
    const folder_guard guard(*files_.folder());
    db.checkpoint(db.log_bytes() >= 4 * files_.checkpoint_bytes());
    // A reader may keep the log from being used anew: then the next try comes only when the log has
    // grown.
    checkpoint_at_ =
        std::max(files_.checkpoint_bytes(), db.log_bytes() + files_.checkpoint_bytes() / 4);
}

// Checks inside a transaction that this session may still act.
error_code sqlite_state::check_actor(const own_session& session) {
    if (!session.alive())
        return errc::session_lost;
    sqlite_query query(files_.db(), "SELECT generation FROM session WHERE key = ?");
    if (!query.bind(session.key()).step() || query.number(0) > generation_)
        return errc::session_lost;
    return {};
}

void sqlite_state::perform(std::span<lock_operation* const> all) {
    not_begun_ = false;
    const auto done = guarded<nothing>([&](outcome<nothing>& out) -> error_code {
        const auto own = session();
        if (!own)
            return errc::session_lost;
        return transact(own->key(), all, out.notices, [&](lock_engine& engine, sql_rows&) {
            const error_code refused = check_actor(*own);
            for (std::size_t i = 0; !refused && i < all.size(); ++i)
                all[i]->apply(engine, own->key(), domain_);
            return refused;
        });
    });
    if (done.code) {
        const error_code why = not_begun_ ? errc::database_busy : done.code;
        for (lock_operation* each : all)
            each->fail(why);
    }
    all.back()->notices() = done.notices;
}

outcome<bool> sqlite_state::break_(const break_order& order) {
    return guarded<bool>([&](outcome<bool>& out) -> error_code {
        const auto slot = order.token.domain.slot_in(domain_);
        if (!slot)
            return {};
        return transact(0, {}, out.notices, [&](lock_engine& engine, sql_rows&) {
            const auto holders = parties(order.name, true, holders_named, now(), order.token.value);
            const auto broken = engine.break_grants(order.name, order.token.value, *slot);
            out.value = broken != 0;
            if (out.value)
                write_break(order, *slot, holders_text(holders, broken));
            return error_code();
        });
    });
}

void sqlite_state::write_break(
    const break_order& order, std::uint32_t slot, const std::string& holder
) {
    using std::chrono::duration_cast;
    using std::chrono::microseconds;
    const auto at = duration_cast<microseconds>(time_of_day().time_since_epoch()).count();
    {
        sqlite_query query(
            files_.db(),
            "INSERT INTO break_log(at, name, token, slot, holder, who, why)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)"
        );
        query.bind_signed(at)
            .bind(order.name)
            .bind(order.token.value)
            .bind(std::uint64_t{slot})
            .bind_text(holder)
            .bind_text(order.who)
            .bind_text(order.why)
            .step();
    }
    sqlite_query query(
        files_.db(), "DELETE FROM break_log WHERE number <= (SELECT max(number) FROM break_log) - ?"
    );
    query.bind(std::uint64_t{breaks_kept}).step();
}

void sqlite_state::abandon() noexcept {
    {
        const std::lock_guard guard(mutex_);
        abandoned_ = true;
    }
    forget_session();
}

void sqlite_state::forget_session() noexcept {
    if (process_.forked() || detail::as_killed::now())
        return;
    std::shared_ptr<own_session> left;
    {
        const std::lock_guard guard(mutex_);
        left = std::exchange(session_, nullptr);
    }
    if (!left)
        return;
    left->kill();
    remove_sockets(left->folder(), left->self().nonce);
}

}  // namespace mortise::store_detail
