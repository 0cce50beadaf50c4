// SPDX-License-Identifier: BSL-1.0
#include "inbox/inbox_tables.hpp"

#include "mortise/outbox/error.hpp"
#include "mortise/store_types.hpp"
#include "table/message_columns.hpp"
#include "table/schema.hpp"
#include "wall_clock.hpp"

#include <utility>

namespace mortise::outbox::inbox_detail {
namespace {

constexpr std::int64_t format = 2;
constexpr std::int64_t format_without_arrival = 1;

constexpr const char* tables[] = {
    ("CREATE TABLE mortise_inbox_offset(inbox TEXT NOT NULL, source TEXT NOT NULL,"
     " next INTEGER NOT NULL, PRIMARY KEY(inbox, source)) WITHOUT ROWID"),
    ("CREATE TABLE mortise_inbox_seen(inbox TEXT NOT NULL, message_id TEXT NOT NULL,"
     " seen INTEGER NOT NULL, PRIMARY KEY(inbox, message_id)) WITHOUT ROWID"),
    "CREATE INDEX mortise_inbox_by_age ON mortise_inbox_seen(inbox, seen)",
    ("CREATE TABLE mortise_inbox_held(id INTEGER PRIMARY KEY AUTOINCREMENT, inbox TEXT NOT NULL,"
     " source TEXT NOT NULL, place INTEGER NOT NULL, state INTEGER NOT NULL,"
     " attempts INTEGER NOT NULL, due INTEGER NOT NULL, reason TEXT NOT NULL,"
     " message_id TEXT NOT NULL, topic TEXT NOT NULL, key BLOB, payload BLOB, headers BLOB,"
     " arrived INTEGER NOT NULL)"),
    "CREATE INDEX mortise_inbox_by_key ON mortise_inbox_held(inbox, topic, key, id)",
    "CREATE INDEX mortise_inbox_by_due ON mortise_inbox_held(inbox, due) WHERE state = 0",
};

// Adds the time of arrival. It is unknown for messages already held, so they get the present time.
void add_arrival(db::connection& on) {
    on.run("ALTER TABLE mortise_inbox_held ADD COLUMN arrived INTEGER NOT NULL DEFAULT 0");
    on.run("UPDATE mortise_inbox_held SET arrived = ?1", wall_now());
    on.run("UPDATE mortise_inbox_about SET value = ?1 WHERE name = 'format'", format);
}

constexpr const char* about = "mortise_inbox_about";

#define MORTISE_INBOX_HELD "id, attempts, source, place, message_id, topic, key, payload, headers"

inbox_tables::held_row held_at(const db::statement& row) {
    inbox_tables::held_row held;
    held.row = row.integer(0);
    held.attempts = static_cast<std::uint32_t>(row.integer(1));
    if (auto message = table::message_at(row, 4))
        held.received.emplace(row.text(2), row.integer(3), std::move(*message));
    return held;
}

}  // namespace

bool are_made(db::connection& on) {
    return table::format_there(on, about, format).has_value();
}

void make(db::connection& on) {
    const auto found = table::format_there(on, about, format);
    if (found == format_without_arrival)
        add_arrival(on);
    if (found)
        return;
    table::make_about(on, about, format);
    for (const char* each : tables)
        on.run(each);
}

void require(db::connection& on) {
    const auto found = table::format_there(on, about, format);
    if (!found)
        throw error(
            errc::not_an_inbox, table::path_of(on), "let one receive something, or name another"
        );
    table::refuse_older(on, *found, format);
}

std::string id_of(db::connection& on) {
    const std::string fresh = random_id::draw().text();
    on.run(
        "INSERT OR IGNORE INTO mortise_inbox_about(name, value) VALUES('id', ?1)",
        std::string_view(fresh)
    );
    auto row = on.query("SELECT value FROM mortise_inbox_about WHERE name = 'id'");
    return row.step() ? row.text(0) : std::string();
}

std::optional<std::int64_t>
inbox_tables::next_offset(db::connection& on, std::string_view source) const {
    auto row = on.query(
        "SELECT next FROM mortise_inbox_offset WHERE inbox = ?1 AND source = ?2",
        std::string_view(name_),
        source
    );
    if (!row.step())
        return std::nullopt;
    return row.integer(0);
}

void inbox_tables::set_next_offset(db::connection& on, std::string_view source, std::int64_t next)
    const {
    on.run(
        "INSERT INTO mortise_inbox_offset(inbox, source, next) VALUES(?1, ?2, ?3)"
        " ON CONFLICT(inbox, source) DO UPDATE SET next = excluded.next",
        std::string_view(name_),
        source,
        next
    );
}

std::map<std::string, std::int64_t> inbox_tables::positions(db::connection& on) const {
    std::map<std::string, std::int64_t> found;
    auto row = on.query(
        "SELECT source, next FROM mortise_inbox_offset WHERE inbox = ?1", std::string_view(name_)
    );
    while (row.step())
        found.emplace(row.text(0), row.integer(1));
    return found;
}

// Compares the age of the id instead of asking whether `forget_ids` removed the row: after a quiet
// time, in which nothing was forgotten, an id may be used again.
bool inbox_tables::note_id(
    db::connection& on, std::string_view id, std::int64_t now, std::int64_t window
) const {
    on.run(
        "INSERT INTO mortise_inbox_seen(inbox, message_id, seen) VALUES(?1, ?2, ?3)"
        " ON CONFLICT(inbox, message_id) DO UPDATE SET seen = excluded.seen WHERE seen < ?4",
        std::string_view(name_),
        id,
        now,
        now - window
    );
    return on.changes() != 0;
}

void inbox_tables::forget_ids(db::connection& on, std::int64_t before, std::size_t limit) const {
    on.run(
        "DELETE FROM mortise_inbox_seen WHERE inbox = ?1 AND message_id IN"
        " (SELECT message_id FROM mortise_inbox_seen WHERE inbox = ?1 AND seen < ?2"
        " ORDER BY seen LIMIT ?3)",
        std::string_view(name_),
        before,
        limit
    );
}

bool inbox_tables::is_blocked(db::connection& on, const message& message) const {
    if (!message.key)
        return false;
    auto row = on.query(
        "SELECT 1 FROM mortise_inbox_held WHERE inbox = ?1 AND topic = ?2 AND key = ?3 LIMIT 1",
        std::string_view(name_),
        std::string_view(message.topic)
    );
    row.bind_bytes(*message.key);
    return row.step();
}

void inbox_tables::hold(
    db::connection& on,
    const received& received,
    held_state as,
    std::int64_t due,
    std::string_view reason
) const {
    auto row = on.query(
        "INSERT INTO mortise_inbox_held(inbox, source, place, state, attempts, due, reason,"
        " arrived, message_id, topic, key, payload, headers)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        std::string_view(name_),
        std::string_view(received.source),
        received.offset,
        static_cast<std::int64_t>(as),
        as == behind ? 0 : 1,
        due,
        reason,
        wall_now()
    );
    table::bind_message(row, received.message);
    row.run();
}

std::vector<inbox_tables::held_row>
inbox_tables::due(db::connection& on, std::int64_t now, std::size_t limit) const {
    std::vector<held_row> found;
    auto row = on.query(
        "SELECT " MORTISE_INBOX_HELD " FROM mortise_inbox_held"
        " WHERE inbox = ?1 AND state = 0 AND due <= ?2 ORDER BY due, id LIMIT ?3",
        std::string_view(name_),
        now,
        limit
    );
    while (row.step())
        found.push_back(held_at(row));
    return found;
}

std::optional<inbox_tables::held_row>
inbox_tables::find_held(db::connection& on, std::int64_t row) const {
    auto found =
        on.query("SELECT " MORTISE_INBOX_HELD " FROM mortise_inbox_held WHERE id = ?1", row);
    if (!found.step())
        return std::nullopt;
    return held_at(found);
}

std::optional<std::int64_t> inbox_tables::next_due(db::connection& on) const {
    auto row = on.query(
        "SELECT min(due) FROM mortise_inbox_held WHERE inbox = ?1 AND state = 0",
        std::string_view(name_)
    );
    if (!row.step() || row.is_null(0))
        return std::nullopt;
    return row.integer(0);
}

void inbox_tables::postpone(
    db::connection& on, const held_row& held, held_state as, std::int64_t due, std::string_view why
) const {
    on.run(
        "UPDATE mortise_inbox_held SET state = ?2, due = ?3, attempts = ?4, reason = ?5"
        " WHERE id = ?1",
        held.row,
        static_cast<std::int64_t>(as),
        due,
        held.attempts + 1,
        why
    );
}

std::optional<std::int64_t> release(db::connection& on, std::int64_t row, std::int64_t now) {
    std::optional<std::int64_t> next;
    {
        auto found = on.query(
            "SELECT next.id FROM mortise_inbox_held AS next, mortise_inbox_held AS gone"
            " WHERE gone.id = ?1 AND next.inbox = gone.inbox AND next.topic = gone.topic"
            " AND next.key = gone.key AND next.id > gone.id AND next.state = 1"
            " ORDER BY next.id LIMIT 1",
            row
        );
        if (found.step())
            next = found.integer(0);
    }
    if (next)
        on.run("UPDATE mortise_inbox_held SET state = 0, due = ?2 WHERE id = ?1", *next, now);
    on.run("DELETE FROM mortise_inbox_held WHERE id = ?1", row);
    return next;
}

}  // namespace mortise::outbox::inbox_detail
