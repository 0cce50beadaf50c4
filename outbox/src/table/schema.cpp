// SPDX-License-Identifier: BSL-1.0
#include "table/schema.hpp"

#include "mortise/db/bell.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/store_types.hpp"
#include "table/format.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

namespace mortise::outbox::table {
namespace {

constexpr std::int64_t format = 1;
constexpr std::uint32_t shards_at_first = 4;

#define MORTISE_OUTBOX_MESSAGE                                                                     \
    "message_id TEXT NOT NULL, topic TEXT NOT NULL, key BLOB, payload BLOB, headers BLOB,"         \
    " written INTEGER NOT NULL"

constexpr const char* tables[] = {
    // Numbers of rows that were purged are never used again: a mark would be taken for theirs.
    ("CREATE TABLE mortise_outbox(id INTEGER PRIMARY KEY AUTOINCREMENT, shard INTEGER NOT NULL,"
     " " MORTISE_OUTBOX_MESSAGE ")"),
    "CREATE INDEX mortise_outbox_by_shard ON mortise_outbox(shard, id)",
    ("CREATE TABLE mortise_outbox_later(id INTEGER PRIMARY KEY AUTOINCREMENT, due INTEGER NOT NULL,"
     " " MORTISE_OUTBOX_MESSAGE ")"),
    "CREATE INDEX mortise_outbox_by_due ON mortise_outbox_later(due, id)",
    ("CREATE TABLE mortise_outbox_parked(id INTEGER PRIMARY KEY, shard INTEGER NOT NULL,"
     " " MORTISE_OUTBOX_MESSAGE ", parked INTEGER NOT NULL, reason TEXT)"),
    "CREATE INDEX mortise_outbox_by_key ON mortise_outbox_parked(topic, key, id)",
    ("CREATE TABLE mortise_outbox_shard(shard INTEGER PRIMARY KEY,"
     " epoch INTEGER NOT NULL DEFAULT 0, domain TEXT NOT NULL DEFAULT '',"
     " generation INTEGER NOT NULL DEFAULT 0, sequence INTEGER NOT NULL DEFAULT 0,"
     " row INTEGER NOT NULL, message TEXT NOT NULL DEFAULT '', sink TEXT NOT NULL DEFAULT '',"
     " place TEXT NOT NULL DEFAULT '', done INTEGER NOT NULL DEFAULT 0,"
     " refused TEXT, refused_mark TEXT)"),
    ("CREATE TABLE mortise_outbox_layout(first_shard INTEGER PRIMARY KEY, shards INTEGER NOT NULL,"
     " since INTEGER NOT NULL)"),
};

constexpr const char* about = "mortise_outbox_about";

}  // namespace

void make(db::connection& on) {
    if (is_there(on, about, format))
        return;
    make_about(on, about, format);
    for (const char* each : tables)
        on.run(each);
    const std::string id = random_id::draw().text();
    on.run("INSERT INTO mortise_outbox_about(name, value) VALUES('id', ?1)", std::string_view(id));
    add_layout(on, shards_at_first);
}

void require(db::connection& on) {
    if (!is_there(on, about, format))
        throw error(errc::not_an_outbox, path_of(on), "append a message, or name another database");
}

std::string id_of(db::connection& on) {
    auto row = on.query("SELECT value FROM mortise_outbox_about WHERE name = 'id'");
    return row.step() ? row.text(0) : std::string();
}

void add_layout(db::connection& on, std::uint32_t shards) {
    std::int64_t first = 0;
    if (auto row = on.query("SELECT max(shard) + 1 FROM mortise_outbox_shard"); row.step())
        first = row.integer(0);
    const std::int64_t last_row = last_number(on);
    on.run(
        "INSERT INTO mortise_outbox_layout(first_shard, shards, since) VALUES(?1, ?2, ?3)",
        first,
        shards,
        wall_now()
    );
    for (std::uint32_t i = 0; i < shards; ++i)
        on.run("INSERT INTO mortise_outbox_shard(shard, row) VALUES(?1, ?2)", first + i, last_row);
}

std::int64_t last_number(db::connection& on) {
    auto row = on.query("SELECT seq FROM sqlite_sequence WHERE name = 'mortise_outbox'");
    return row.step() ? row.integer(0) : 0;
}

std::uint32_t newest_layout(db::connection& on) {
    auto row = on.query("SELECT max(first_shard) FROM mortise_outbox_layout");
    return row.step() ? static_cast<std::uint32_t>(row.integer(0)) : 0;
}

void ring_after_commit(db::connection& on) {
    on.after_commit("mortise.outbox", [path = path_of(on)] { db::bell::ring(path); });
}

std::string path_of(const db::connection& on) {
    const char* const path = ::sqlite3_db_filename(on.handle(), "main");
    return path == nullptr ? std::string() : std::string(path);
}

}  // namespace mortise::outbox::table
