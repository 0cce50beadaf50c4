// SPDX-License-Identifier: BSL-1.0
#include "table/schema.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/db/bell.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/store_types.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

#include <string_view>

namespace mortise::outbox::table {
namespace {

constexpr std::int64_t format = 4;
constexpr std::int64_t format_with_index = 1;  // Rows by number, with an index by shard.
constexpr std::int64_t format_with_nameless_layouts = 2;
constexpr std::uint32_t shards_at_first = 4;

#define MORTISE_OUTBOX_MESSAGE                                                                     \
    "message_id TEXT NOT NULL, topic TEXT NOT NULL, key BLOB, payload BLOB, headers BLOB,"         \
    " written INTEGER NOT NULL"

constexpr const char* make_rows =
    "CREATE TABLE mortise_outbox(slot INTEGER PRIMARY KEY, " MORTISE_OUTBOX_MESSAGE ")";
// Never reuse the number of a purged row: an old mark would match the new row.
constexpr const char* make_counter =
    "CREATE TABLE mortise_outbox_counter(last_row INTEGER NOT NULL CHECK(last_row < 1 << 46))";

// Finds messages whose topic is missing, by topic.
constexpr const char* make_away_index =
    "CREATE INDEX mortise_outbox_by_away ON mortise_outbox_parked(shard, topic, id)"
    " WHERE away != 0";

// Ids that a later append must not use again, for callers that ask for that.
constexpr const char* make_ids =
    "CREATE TABLE mortise_outbox_id(message_id TEXT PRIMARY KEY, ends INTEGER NOT NULL)"
    " WITHOUT ROWID";
constexpr const char* make_ids_by_end =
    "CREATE INDEX mortise_outbox_id_by_end ON mortise_outbox_id(ends)";
constexpr const char* make_later_by_id =
    "CREATE INDEX mortise_outbox_later_by_id ON mortise_outbox_later(message_id)";

constexpr const char* tables[] = {
    make_rows,
    make_counter,
    "INSERT INTO mortise_outbox_counter(last_row) VALUES(0)",
    ("CREATE TABLE mortise_outbox_later(id INTEGER PRIMARY KEY AUTOINCREMENT, due INTEGER NOT NULL,"
     " " MORTISE_OUTBOX_MESSAGE ")"),
    "CREATE INDEX mortise_outbox_by_due ON mortise_outbox_later(due, id)",
    make_later_by_id,
    make_ids,
    make_ids_by_end,
    ("CREATE TABLE mortise_outbox_parked(id INTEGER PRIMARY KEY, shard INTEGER NOT NULL,"
     " " MORTISE_OUTBOX_MESSAGE ", parked INTEGER NOT NULL, reason TEXT,"
     " away INTEGER NOT NULL DEFAULT 0)"),
    "CREATE INDEX mortise_outbox_by_key ON mortise_outbox_parked(topic, key, id)",
    make_away_index,
    ("CREATE TABLE mortise_outbox_shard(shard INTEGER PRIMARY KEY,"
     " epoch INTEGER NOT NULL DEFAULT 0, domain TEXT NOT NULL DEFAULT '',"
     " generation INTEGER NOT NULL DEFAULT 0, sequence INTEGER NOT NULL DEFAULT 0,"
     " row INTEGER NOT NULL, message TEXT NOT NULL DEFAULT '', sink TEXT NOT NULL DEFAULT '',"
     " place TEXT NOT NULL DEFAULT '', done INTEGER NOT NULL DEFAULT 0,"
     " refused TEXT, refused_mark TEXT)"),
    ("CREATE TABLE mortise_outbox_layout(first_shard INTEGER PRIMARY KEY, shards INTEGER NOT NULL,"
     " since INTEGER NOT NULL, id TEXT NOT NULL DEFAULT '')"),
};

// Rows keep their numbers, so marks stay valid.
constexpr const char* from_index[] = {
    make_counter,
    "INSERT INTO mortise_outbox_counter(last_row) SELECT ifnull("
    "(SELECT seq FROM sqlite_sequence WHERE name = 'mortise_outbox'), 0)",
    // Copy instead of renaming: a rename checks all views of the database and fails if one is
    // broken.
    "CREATE TABLE mortise_outbox_before AS SELECT * FROM mortise_outbox",
    "DROP TABLE mortise_outbox",
    make_rows,
    "INSERT INTO mortise_outbox(slot, " MORTISE_OUTBOX_COLUMNS ")"
    " SELECT " MORTISE_OUTBOX_SLOT("shard", "id") ", " MORTISE_OUTBOX_COLUMNS
                                                  " FROM mortise_outbox_before ORDER BY shard, id",
    "DROP TABLE mortise_outbox_before",
};

// Existing layouts stay without an id, as do the marks of their shards.
constexpr const char* from_nameless_layouts[] = {
    "ALTER TABLE mortise_outbox_layout ADD COLUMN id TEXT NOT NULL DEFAULT ''",
};

// Messages parked by an older version stay until an operator acts.
constexpr const char* from_parked_for_ever[] = {
    "ALTER TABLE mortise_outbox_parked ADD COLUMN away INTEGER NOT NULL DEFAULT 0",
    make_away_index,
};

constexpr const char* without_ids[] = {make_later_by_id, make_ids, make_ids_by_end};

constexpr const char* about_table = "mortise_outbox_about";

void bring_up_to_date(db::connection& on) {
    const auto found = format_there(on, about_table, format);
    if (found == format_with_index) {
        for (const char* each : from_index)
            on.run(each);
    }
    if (found <= format_with_nameless_layouts) {
        for (const char* each : from_nameless_layouts)
            on.run(each);
    }
    for (const char* each : from_parked_for_ever)
        on.run(each);
    for (const char* each : without_ids)
        on.run(each);
    on.run("UPDATE mortise_outbox_about SET value = ?1 WHERE name = 'format'", format);
}

void make_all(db::connection& on) {
    make_about(on, about_table, format);
    for (const char* each : tables)
        on.run(each);
    const std::string id = random_id::draw().text();
    on.run("INSERT INTO mortise_outbox_about(name, value) VALUES('id', ?1)", std::string_view(id));
    add_layout(on, shards_at_first);
}

// Runs `work` completely or undoes it: the caller may commit despite the exception.
void as_a_whole(db::connection& on, void (*work)(db::connection&)) {
    on.run("SAVEPOINT mortise_outbox_make");
    try {
        work(on);
    } catch (...) {
        const bool rolled_back = ::sqlite3_get_autocommit(on.handle()) != 0;
        if (!rolled_back) {
            on.run("ROLLBACK TO mortise_outbox_make");
            on.run("RELEASE mortise_outbox_make");
        }
        throw;
    }
    on.run("RELEASE mortise_outbox_make");
}

}  // namespace

bool make(db::connection& on) {
    const auto found = format_there(on, about_table, format);
    if (found == format)
        return false;
    as_a_whole(on, found ? bring_up_to_date : make_all);
    return true;
}

void require(db::connection& on) {
    const auto found = format_there(on, about_table, format);
    if (!found)
        throw error(errc::not_an_outbox, path_of(on), "append a message, or name another database");
    refuse_older(on, *found, format);
}

std::string id_of(db::connection& on) {
    auto row = on.query("SELECT value FROM mortise_outbox_about WHERE name = 'id'");
    return row.step() ? row.text(0) : std::string();
}

void add_layout(db::connection& on, std::uint32_t shards) {
    std::int64_t first = 0;
    if (auto row = on.query("SELECT max(shard) + 1 FROM mortise_outbox_shard"); row.step())
        first = row.integer(0);
    if (first + shards >= shards_end)
        throw error(
            errc::bad_shards,
            std::to_string(first) + " shards were used in all",
            "begin a new table in another database"
        );
    const std::int64_t last_row = last_number(on);
    const std::string id = random_id::draw().text();
    on.run(
        "INSERT INTO mortise_outbox_layout(first_shard, shards, since, id) VALUES(?1, ?2, ?3, ?4)",
        first,
        shards,
        wall_now(),
        std::string_view(id)
    );
    for (std::uint32_t i = 0; i < shards; ++i)
        on.run("INSERT INTO mortise_outbox_shard(shard, row) VALUES(?1, ?2)", first + i, last_row);
}

std::int64_t last_number(db::connection& on) {
    auto row = on.query("SELECT last_row FROM mortise_outbox_counter");
    return row.step() ? row.integer(0) : 0;
}

std::uint32_t newest_layout(db::connection& on) {
    auto row = on.query("SELECT max(first_shard) FROM mortise_outbox_layout");
    return row.step() ? static_cast<std::uint32_t>(row.integer(0)) : 0;
}

void ring_after_commit(db::connection& on) {
    on.after_commit("mortise.outbox", [path = path_of(on)] {
        MORTISE_CRASH_POINT("outbox.ringing");
        db::bell::ring(path);
    });
}

std::string path_of(const db::connection& on) {
    const char* const path = ::sqlite3_db_filename(on.handle(), "main");
    return path == nullptr ? std::string() : std::string(path);
}

std::optional<std::int64_t>
format_there(db::connection& on, const std::string& about, std::int64_t newest) {
    auto known = on.query(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", std::string_view(about)
    );
    if (!known.step())
        return std::nullopt;
    auto row = on.query("SELECT value FROM " + about + " WHERE name = 'format'");
    const std::int64_t found = row.step() ? row.integer(0) : 0;
    if (found < 1 || found > newest)
        throw error(
            errc::newer_format,
            "format " + std::to_string(found),
            "this version reads up to format " + std::to_string(newest)
        );
    return found;
}

void refuse_older(const db::connection& on, std::int64_t found, std::int64_t newest) {
    if (found < newest)
        throw error(
            errc::older_format,
            "format " + std::to_string(found) + " in " + path_of(on),
            "this version uses format " + std::to_string(newest)
        );
}

void make_about(db::connection& on, const std::string& about, std::int64_t number) {
    on.run("CREATE TABLE " + about + "(name TEXT PRIMARY KEY, value) WITHOUT ROWID");
    on.run("INSERT INTO " + about + "(name, value) VALUES('format', ?1)", number);
}

}  // namespace mortise::outbox::table
