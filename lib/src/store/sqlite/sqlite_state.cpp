// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/sqlite_state.hpp"

#include "base/as_killed.hpp"
#include "core/session_rules.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/break_note.hpp"
#include "store/sqlite/examination.hpp"
#include "store/sqlite/lock_reader.hpp"

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
using sqlite_detail::whereabouts;

using core::effect;
using core::lock_engine;
using core::session_key;

sqlite_state::sqlite_state(sqlite_store_config config, std::shared_ptr<coro::time_source> time)
    : time_(std::move(time)), files_(std::move(config)) {
    checkpoint_at_ = files_.checkpoint_bytes();
}

void sqlite_state::open_if_needed(std::vector<notice>& notices) {
    if (files_.is_open() && !session() && files_.where() == whereabouts::other)
        close_all();  // Somebody has replaced the store while nobody here needed it.
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
    quarantine_over_ = now() >= files_.quarantine_until();
    const auto until = quarantine_over_ ? clock::time_point() : files_.quarantine_until();
    quarantine_until_ = until.time_since_epoch().count();
    try {
        news_.open();
    } catch (...) {
        close_all();  // The next opening is the first one.
        throw;
    }
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
    if (poisons(files_.db().code()))
        give_up_connection();
    files_.db().roll_back();
    if (files_.db().in_transaction())
        give_up_connection();
    const error why = failure_of(files_.db(), files_.path());
    files_.db().forgive();
    throw why;
}

// Throws the same. Only a new connection will see what is in the log.
void sqlite_state::give_up_connection() {
    const error why = failure_of(files_.db(), files_.path());
    files_.close_database();
    index_.clear();
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
        news_.tell(effects, done, session().get(), notices);
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
    if (actor == 0)
        refuse_if_replaced();
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
    if (files_.slots()->cut()) {
        // Who is alive was read from zeros.
        rows.retract();
        db.roll_back();
        throw error(errc::store_replaced, files_.path(), "see who has cut the file of heartbeats");
    }
    if (db.failed() || !db.step("COMMIT")) {
        rows.retract();
        give_up_connection();
    }
    effects = engine.take_effects();
    rows.settle();
    news_.committed(effects, rows, session().get());
    return {};
}

// Fails if the heartbeats are kept in another file by now: those who write there would look dead
// here. A session finds that out by its next heartbeat, and without one the next call opens anew.
void sqlite_state::refuse_if_replaced() {
    if (files_.where() == whereabouts::other)
        throw error(errc::store_replaced, files_.path(), "ask again: somebody replaced the store");
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
    sqlite_query query(files_.db(), "SELECT generation FROM session WHERE key = ?");
    if (!query.bind(session.key()).step())
        return errc::session_lost;
    const auto known = session.terms(query.number(0));
    return core::may_act(known, generation_, now()) ? error_code() : errc::session_lost;
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
            const auto holders = reader().holders(order.name, holders_named, order.token.value);
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
    sqlite_query(
        files_.db(),
        "INSERT INTO break_log(at, name, token, slot, holder, who, why)"
        " VALUES(?, ?, ?, ?, ?, ?, ?)"
    )
        .bind_signed(at)
        .bind(order.name)
        .bind(order.token.value)
        .bind(std::uint64_t{slot})
        .bind_text(holder)
        .bind_text(order.who)
        .bind_text(order.why)
        .step();
    sqlite_query query(
        files_.db(), "DELETE FROM break_log WHERE number <= (SELECT max(number) FROM break_log) - ?"
    );
    query.bind(std::uint64_t{breaks_kept}).step();
}

outcome<session_view> sqlite_state::look() {
    return guarded<session_view>([&](outcome<session_view>& out) -> error_code {
        const auto own = session();
        if (!own || !own->alive())
            return errc::session_lost;
        out.value = view_of(*own);
        return {};
    });
}

lock_reader sqlite_state::reader() {
    return {files_, domain_, now()};
}

// Reads under the lock, so that the change number belongs to what is read.
session_view sqlite_state::view_of(const own_session& own) {
    session_view view;
    const folder_guard guard(*files_.folder());
    view.changes = own.view().changes;
    view.entries = reader().entries(own.key());
    if (files_.db().failed())
        fail();
    const auto grants = static_cast<std::uint64_t>(std::count_if(
        view.entries.begin(), view.entries.end(), [](const auto& each) { return each.granted; }
    ));
    // A process that died between the counts and the commit left wrong counts.
    own.slots().set_counts(own.self().slot, grants, view.entries.size() - grants);
    return view;
}

outcome<nothing> sqlite_state::watch() {
    return guarded<nothing>([&](outcome<nothing>&) -> error_code {
        const auto own = session();
        if (!own || !own->alive())
            return errc::session_lost;
        // Arms under the lock: whatever was committed earlier can be read by now.
        const folder_guard guard(*files_.folder());
        own->slots().arm(own->self().slot);
        return {};
    });
}

// Looks under the lock: whoever died between counting its change and its commit changed nothing, or
// told nobody.
outcome<nothing> sqlite_state::look_stirred() {
    return guarded<nothing>([&](outcome<nothing>& out) -> error_code {
        const auto own = session();
        if (!own)
            return {};
        const folder_guard guard(*files_.folder());
        if (own->slots().stirred(own->self().slot)) {
            out.notices.emplace_back();
            out.notices.back().kind = store_event::kind::changed;
        }
        return {};
    });
}

outcome<nothing> sqlite_state::verify(const std::vector<hint>& hints) {
    return guarded<nothing>([&](outcome<nothing>& out) -> error_code {
        const auto own = session();
        if (!own)
            return {};
        bool look = false;
        for (const auto& each : hints) {
            if (each.type == hint::kind::changed)
                look = true;
            else if (auto found = reader().true_notice(each, own->key()))
                out.notices.push_back(*found);
        }
        if (!own->alive()) {
            out.notices.clear();
            notice lost;
            lost.kind = store_event::kind::session_lost;
            lost.why = errc::session_lost;
            out.notices.push_back(lost);
        } else if (look) {
            out.notices.emplace_back();
        }
        return {};
    });
}

// Answers with nothing where there is no store: nobody ever locked anything there, and a look must
// not make one.
template <class T, class Body>
outcome<T> sqlite_state::read_if_there(Body body) {
    if (!files_.is_open() && !files_.exists())
        return {};
    return guarded<T>([&](outcome<T>& out) {
        body(out);
        return error_code();
    });
}

outcome<std::vector<lock_view>>
sqlite_state::list(const std::string& after, std::size_t limit, std::size_t queue_max) {
    return read_if_there<std::vector<lock_view>>([&](auto& out) {
        reap_all(out.notices);
        out.value = reader().list(after, limit, queue_max);
    });
}

outcome<std::optional<lock_view>>
sqlite_state::inspect(const std::string& name, std::size_t queue_max) {
    return read_if_there<std::optional<lock_view>>([&](auto& out) {
        reap_all(out.notices);
        out.value = reader().find(name, queue_max);
    });
}

outcome<std::vector<break_record>>
sqlite_state::breaks(const std::string& name, std::size_t limit) {
    return read_if_there<std::vector<break_record>>([&](auto& out) {
        out.value = reader().breaks(name, limit);
    });
}

outcome<std::vector<store_finding>> sqlite_state::examine() {
    outcome<std::vector<store_finding>> out;
    out.value = examine_store(
        files_, *time_, [&] { open_if_needed(out.notices); }, [this] { fail(); }
    );
    return out;
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
