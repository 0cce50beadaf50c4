// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/sql_rows.hpp"

#include "mortise/fencing_token.hpp"
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/sqlite/entry_values.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/slot_file.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <limits>

namespace mortise::store_detail {

using sqlite_detail::sqlite_db;
using sqlite_detail::sqlite_query;

using core::lock_entry;
using core::presence;
using core::session_key;

namespace {

// The columns of an entry, in the order of the table.
#define ENTRY_COLUMNS                                                                              \
    "name, queued, ordinal, session, request, mode, capacity, hold_max_ms, token, slot, since"

clock::time_point time_of(std::int64_t nanoseconds) noexcept {
    return clock::time_point(clock::duration(nanoseconds));
}

std::optional<lock_entry> read_entry(const sqlite_db& db, sqlite_query& query) {
    if (!query.step())
        return std::nullopt;
    entry_values values(query);
    lock_entry entry;
    entry.name = query.name(0);
    entry.granted = query.within(1, 0, 1, "entry.queued") == 0;
    entry.ordinal = values.ordinal(2);
    entry.session = query.number(3);
    entry.id = query.number(4);
    entry.mode = values.mode(5, 6);
    entry.hold_max = values.hold_max(7);
    entry.token = values.token(8, entry.granted);
    entry.slot = values.slot(9, entry.mode, entry.granted);
    entry.since = values.since(10);
    return db.failed() ? std::nullopt : std::optional(std::move(entry));
}

std::uint64_t queued(bool granted) noexcept {
    return granted ? 0 : 1;
}

// The end of a grant by its `hold_max`; zero, which becomes NULL, if there is none.
std::int64_t end_column(const lock_entry& entry) noexcept {
    return entry.ends() == clock::time_point::max() ? 0 : entry.ends().time_since_epoch().count();
}

}  // namespace

std::optional<lock_entry>
sql_rows::find(std::string_view name, session_key session, request_id id) {
    if (auto seen = window(name).find(session, id))
        return std::move(*seen);
    sqlite_query query(
        db_, "SELECT " ENTRY_COLUMNS " FROM entry WHERE session = ? AND request = ? AND name = ?"
    );
    query.bind(session).bind(id).bind(name);
    return read_entry(db_, query);
}

lock_window* sql_rows::open_window(std::string_view name) noexcept {
    const auto found = std::find_if(windows_.begin(), windows_.end(), [name](const auto& each) {
        return each.name() == name;
    });
    return found == windows_.end() ? nullptr : &*found;
}

lock_window& sql_rows::window(std::string_view name) {
    if (lock_window* const known = open_window(name))
        return *known;
    constexpr std::size_t windows_max = 8;  // They are searched one after the other.
    if (windows_.size() == windows_max)
        windows_.erase(windows_.begin());
    std::vector<lock_entry> first;
    bool whole = true;
    {
        sqlite_query query(
            db_,
            "SELECT " ENTRY_COLUMNS " FROM entry WHERE name = ? ORDER BY queued, ordinal LIMIT ?"
        );
        query.bind(name).bind(std::uint64_t{lock_window::size_max + 1});
        while (auto entry = read_entry(db_, query)) {
            whole = first.size() < lock_window::size_max;
            if (whole)
                first.push_back(std::move(*entry));
        }
    }
    return windows_.emplace_back(std::string(name), std::move(first), whole);
}

std::optional<lock_entry> sql_rows::next(std::string_view name, bool granted, std::uint64_t after) {
    if (auto seen = window(name).next(granted, after))
        return std::move(*seen);
    sqlite_query query(
        db_,
        "SELECT " ENTRY_COLUMNS " FROM entry WHERE name = ? AND queued = ? AND ordinal > ?"
        " ORDER BY ordinal LIMIT 1"
    );
    query.bind(name).bind(queued(granted)).bind(after);
    return read_entry(db_, query);
}

std::uint64_t sql_rows::last_ordinal(std::string_view name, bool granted) {
    if (const auto seen = window(name).last_ordinal(granted))
        return *seen;
    sqlite_query query(
        db_, "SELECT ordinal FROM entry WHERE name = ? AND queued = ? ORDER BY ordinal DESC LIMIT 1"
    );
    query.bind(name).bind(queued(granted));
    return query.step() ? entry_values(query).ordinal(0) : 0;
}

std::vector<lock_entry> sql_rows::holders(std::string_view name) {
    if (auto seen = window(name).holders())
        return std::move(*seen);
    sqlite_query query(
        db_, "SELECT " ENTRY_COLUMNS " FROM entry WHERE name = ? AND queued = 0 ORDER BY ordinal"
    );
    query.bind(name);
    std::vector<lock_entry> all;
    while (auto entry = read_entry(db_, query))
        all.push_back(std::move(*entry));
    return all;
}

std::uint64_t sql_rows::holder_count(std::string_view name) {
    if (const auto seen = window(name).holder_count())
        return *seen;
    sqlite_query query(db_, "SELECT count(*) FROM entry WHERE name = ? AND queued = 0");
    return query.bind(name).step() ? query.number(0) : 0;
}

bool sql_rows::others_wait(std::string_view name, session_key session) {
    if (const auto seen = window(name).others_wait(session))
        return *seen;
    sqlite_query query(
        db_, "SELECT 1 FROM entry WHERE name = ? AND queued = 1 AND session <> ? LIMIT 1"
    );
    return query.bind(name).bind(session).step();
}

std::uint32_t sql_rows::capacity_of(std::string_view name) {
    if (const auto seen = window(name).capacity())
        return *seen;
    sqlite_query query(db_, "SELECT capacity FROM entry WHERE name = ? AND capacity > 0 LIMIT 1");
    if (!query.bind(name).step())
        return 0;
    return static_cast<std::uint32_t>(query.within(0, 1, lock_mode::capacity_max, "entry.capacity")
    );
}

std::optional<lock_entry> sql_rows::next_ended(clock::time_point at) {
    sqlite_query query(
        db_, "SELECT " ENTRY_COLUMNS " FROM entry WHERE ends <= ? ORDER BY ends LIMIT 1"
    );
    query.bind_signed(at.time_since_epoch().count());
    return read_entry(db_, query);
}

void sql_rows::insert(const lock_entry& entry) {
    changed_locks_ = true;
    if (lock_window* const seen = open_window(entry.name))
        seen->insert(entry);
    if (end_column(entry) != 0)
        note_ends(entry.session);
    sqlite_query query(
        db_,
        "INSERT INTO entry(" ENTRY_COLUMNS ", ends)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0))"
    );
    query.bind(entry.name)
        .bind(queued(entry.granted))
        .bind(entry.ordinal)
        .bind(entry.session)
        .bind(entry.id)
        .bind(static_cast<std::uint64_t>(entry.mode.type()))
        .bind(std::uint64_t{entry.mode.capacity()})
        .bind_signed(entry.hold_max.count())
        .bind(entry.token)
        .bind(std::uint64_t{entry.slot})
        .bind_signed(entry.since.time_since_epoch().count())
        .bind_signed(end_column(entry))
        .step();
}

void sql_rows::erase(const lock_entry& entry) {
    changed_locks_ = true;
    if (lock_window* const seen = open_window(entry.name))
        seen->erase(entry);
    if (entry.granted)
        taken_.emplace_back(entry.session, entry.id);
    if (end_column(entry) != 0)
        note_ends(entry.session);
    sqlite_query query(db_, "DELETE FROM entry WHERE name = ? AND queued = ? AND ordinal = ?");
    query.bind(entry.name).bind(queued(entry.granted)).bind(entry.ordinal).step();
    // An entry that stays would be found again, for ever.
    if (!db_.failed() && ::sqlite3_changes(db_.handle()) != 1)
        db_.fail_foreign("an entry that cannot be removed");
}

void sql_rows::grant(const lock_entry& entry) {
    changed_locks_ = true;
    if (lock_window* const seen = open_window(entry.name))
        seen->grant(entry);
    if (end_column(entry) != 0)
        note_ends(entry.session);
    sqlite_query query(
        db_,
        "UPDATE entry SET queued = 0, token = ?, slot = ?, since = ?, ends = nullif(?, 0)"
        " WHERE name = ? AND queued = 1 AND ordinal = ?"
    );
    query.bind(entry.token)
        .bind(std::uint64_t{entry.slot})
        .bind_signed(entry.since.time_since_epoch().count())
        .bind_signed(end_column(entry))
        .bind(entry.name)
        .bind(entry.ordinal)
        .step();
}

void sql_rows::set_hold_max(const lock_entry& granted, std::chrono::milliseconds hold_max) {
    lock_entry changed = granted;
    changed.hold_max = hold_max;
    if (lock_window* const seen = open_window(granted.name)) {
        seen->erase(granted);
        seen->insert(changed);
    }
    note_ends(granted.session);
    sqlite_query query(
        db_,
        "UPDATE entry SET hold_max_ms = ?, ends = nullif(?, 0)"
        " WHERE name = ? AND queued = 0 AND ordinal = ?"
    );
    query.bind_signed(hold_max.count())
        .bind_signed(end_column(changed))
        .bind(granted.name)
        .bind(granted.ordinal)
        .step();
}

std::optional<lock_entry> sql_rows::any_of(session_key session) {
    sqlite_query query(
        db_, "SELECT " ENTRY_COLUMNS " FROM entry WHERE session = ? ORDER BY request LIMIT 1"
    );
    query.bind(session);
    return read_entry(db_, query);
}

presence sql_rows::presence_of(session_key session) {
    const auto place = index_.find(db_, slots_, session);
    if (!place)
        return presence::gone;
    const slot_word word = slots_.word(place->slot);
    if (word.dead())
        return presence::gone;
    // The owner of an expired word may still extend it: swap it to death first, then take over.
    if (session != actor_ && word.expired(now_) && slots_.swap(place->slot, word, word.killed()))
        return presence::gone;
    return slots_.word(place->slot).dead() ? presence::gone : presence::alive;
}

// Whoever finds a session expired has swapped its word for death already; one that ends of its own
// will is killed here, if its store has not done so. The slot stays until the session is forgotten:
// it shows to all that something is left to reap.
void sql_rows::mark_dead(session_key session) {
    const auto place = index_.find(db_, slots_, session);
    if (place && !db_.failed())
        slots_.kill(place->slot, slots_.word(place->slot).incarnation());
}

void sql_rows::forget(session_key session) {
    buried_session left;
    left.key = session;
    if (const auto place = index_.find(db_, slots_, session)) {
        left.slot = place->slot;
        left.nonce = place->nonce;
        left.has_slot = true;
    }
    sqlite_query query(db_, "DELETE FROM session WHERE key = ?");
    query.bind(session).step();
    buried_.push_back(left);
}

void sql_rows::changed(
    session_key session, std::int64_t grants, std::int64_t requests, bool unanswered
) {
    auto found = std::find_if(changes_.begin(), changes_.end(), [session](const change& each) {
        return each.session == session;
    });
    if (found == changes_.end()) {
        changes_.emplace_back();
        found = std::prev(changes_.end());
        found->session = session;
    }
    found->grants += grants;
    found->requests += requests;
    if (unanswered)
        ++found->by_others;
}

bool sql_rows::load_meta() {
    if (meta_loaded_)
        return true;
    sqlite_query query(db_, "SELECT token_next, token_mark, quarantine_until FROM meta");
    if (!query.step())
        return false;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    token_next_ = static_cast<std::uint64_t>(query.within(0, 1, most, "meta.token_next"));
    token_mark_ = static_cast<std::uint64_t>(query.within(1, 1, most, "meta.token_mark"));
    quarantine_until_ = quarantine_in(query, 2, now_);
    meta_loaded_ = !db_.failed();
    return meta_loaded_;
}

std::uint64_t sql_rows::draw_bases(std::uint64_t count) {
    if (!load_meta() || token_next_ >= fencing_token::base_end ||
        fencing_token::base_end - token_next_ < count)
        return 0;
    if (token_mark_ < token_next_ || token_mark_ - token_next_ < count) {
        tokens_used_up_ = true;
        return 0;
    }
    drew_ = true;
    return std::exchange(token_next_, token_next_ + count);
}

bool sql_rows::quarantined() {
    // Grants nothing if the quarantine cannot be read.
    return !load_meta() || now_ < quarantine_until_;
}

void sql_rows::note_ends(session_key session) {
    const bool known = std::any_of(ends_.begin(), ends_.end(), [session](const ends_of& each) {
        return each.session == session;
    });
    if (known)
        return;
    ends_.emplace_back();
    ends_.back().session = session;
}

// Lowers an end before the commit, and raises it only after the commit: an end that is too early
// makes somebody look in vain, one that is too late is never looked for.
void sql_rows::publish_ends() {
    for (ends_of& each : ends_) {
        const auto place = index_.find(db_, slots_, each.session);
        sqlite_query query(
            db_,
            "SELECT ends FROM entry WHERE session = ? AND ends IS NOT NULL ORDER BY ends LIMIT 1"
        );
        if (query.bind(each.session).step())
            each.first = time_of(query.signed_number(0));
        if (!place)
            continue;
        each.slot = place->slot;
        each.has_slot = true;
        const auto before = slots_.view(each.slot).ends;
        if (each.first != clock::time_point() &&
            (before == clock::time_point() || each.first < before))
            slots_.set_ends(each.slot, each.first);
    }
}

void sql_rows::settle() noexcept {
    for (const ends_of& each : ends_) {
        if (each.has_slot)
            slots_.set_ends(each.slot, each.first);
    }
}

void sql_rows::publish() {
    publish_ends();
    if (changed_locks_)
        slots_.count_change();
    if (drew_)
        sqlite_query(db_, "UPDATE meta SET token_next = ?").bind(token_next_).step();
    for (const auto& [session, id] : taken_) {
        if (const auto place = index_.find(db_, slots_, session))
            slots_.forget_grant(place->slot, id);
    }
    for (const change& each : changes_) {
        const auto place = index_.find(db_, slots_, each.session);
        if (!place)
            continue;
        slots_.add(place->slot, each.grants, each.requests, each.by_others);
        published_.push_back({place->slot, each});
    }
}

void sql_rows::retract() noexcept {
    for (const published& each : published_)
        slots_.add(each.slot, -each.counts.grants, -each.counts.requests, 0);
    published_.clear();
}

#undef ENTRY_COLUMNS

}  // namespace mortise::store_detail
