// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/schema.hpp"

#include "core/planted_bug.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/query.hpp"
#include "sqlite/sqlite_db.hpp"
#include "store/store_domain.hpp"

namespace mortise::store_detail {

using sqlite_detail::failure_of;
using sqlite_detail::number_of;
using sqlite_detail::remedy_of;
using sqlite_detail::sqlite_db;
using sqlite_detail::sqlite_query;
using sqlite_detail::text_of;

namespace {

// Names and ids are bytes. Grants and wishes stand in one table, the holders of a lock before its
// waiters. The indexes for what few entries have (an end, permits) cost the other entries nothing.
constexpr const char* tables = R"sql(
CREATE TABLE meta(
    one INTEGER PRIMARY KEY CHECK(one = 1),
    format_major INTEGER NOT NULL,
    format_minor INTEGER NOT NULL,
    store_id BLOB NOT NULL,
    domain TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    incarnation BLOB NOT NULL,
    ttl_max_ms INTEGER NOT NULL,
    quarantine_until INTEGER NOT NULL,
    token_next INTEGER NOT NULL,
    token_mark INTEGER NOT NULL);
CREATE TABLE session(
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    generation INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    nonce INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    label TEXT NOT NULL,
    ttl_ms INTEGER NOT NULL,
    started INTEGER NOT NULL);
CREATE TABLE entry(
    name BLOB NOT NULL CHECK(length(name) BETWEEN 1 AND 1024),
    queued INTEGER NOT NULL CHECK(queued IN (0, 1)),
    ordinal INTEGER NOT NULL,
    session INTEGER NOT NULL,
    request INTEGER NOT NULL,
    mode INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    hold_max_ms INTEGER NOT NULL,
    token INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    since INTEGER NOT NULL,
    ends INTEGER,
    PRIMARY KEY(name, queued, ordinal)) WITHOUT ROWID;
CREATE UNIQUE INDEX entry_of_session ON entry(session, request);
CREATE INDEX entry_that_ends ON entry(ends) WHERE ends IS NOT NULL;
CREATE INDEX entry_of_session_that_ends ON entry(session, ends) WHERE ends IS NOT NULL;
CREATE INDEX entry_of_permits ON entry(name, capacity) WHERE capacity > 0;
CREATE TABLE break_log(
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    name BLOB NOT NULL,
    token INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    holder TEXT NOT NULL,
    who TEXT NOT NULL,
    why TEXT NOT NULL);
)sql";

[[noreturn]] void give_up(sqlite_db& db, const std::string& path) {
    const error why = failure_of(db, path);
    db.roll_back();
    throw why;
}

void must(bool worked, sqlite_db& db, const std::string& path) {
    if (!worked)
        give_up(db, path);
}

bool has_table(sqlite_db& db, const char* name) {
    sqlite_query query(db, "SELECT count(*) FROM sqlite_schema WHERE ?1 = '' OR name = ?1");
    return query.bind_text(name).step() && query.number(0) != 0;
}

void make_tables(
    sqlite_db& db, const std::string& path, const std::string& domain, const std::string& boot
) {
    const random_id store = random_id::draw();
    const random_id incarnation = random_id::draw();
    const std::string name = domain.empty() ? "sqlite:" + store.text().substr(0, 16) : domain;
    bool worked = db.run(tables);
    sqlite_query(db, "INSERT INTO meta VALUES(1, ?, ?, ?, ?, ?, ?, 0, 0, 1, 1)")
        .bind(format_major)
        .bind(format_minor)
        .bind(store)
        .bind_text(name)
        .bind_text(boot)
        .bind(incarnation)
        .step();
    static_assert(application_id == 1836217459);
    worked = worked && db.run("PRAGMA application_id = 1836217459") && db.step("COMMIT");
    must(worked, db, path);
}

[[noreturn]] void no_meta(sqlite_db& db, const std::string& path) {
    if (db.failed())
        give_up(db, path);
    throw error(errc::store_corrupt, path + " (bad meta record)", remedy_of(errc::store_corrupt));
}

// Checks the format before anything else is read: a newer one may have other columns, but it has
// this one.
void check_format(sqlite_db& db, const std::string& path) {
    sqlite_query query(db, "SELECT format_major FROM meta");
    if (!query.step())
        no_meta(db, path);
    const std::int64_t found = query.signed_number(0);
    if (found < 1)
        no_meta(db, path);
    if (static_cast<std::uint64_t>(found) > format_major) {
        throw error(
            errc::newer_format,
            path + " has format " + std::to_string(found),
            "use a newer mortise, or another file; this one knows formats up to " +
                std::to_string(format_major)
        );
    }
}

store_identity read_identity(sqlite_db& db, const std::string& path) {
    sqlite_query query(db, "SELECT store_id, incarnation, boot_id, domain FROM meta WHERE one = 1");
    if (!query.step())
        no_meta(db, path);
    store_identity identity;
    identity.store = query.id(0);
    identity.incarnation = query.id(1);
    identity.boot = query.bytes(2);
    identity.domain = query.bytes(3);
    if (!identity.store || !identity.incarnation || !parse_store_domain(identity.domain))
        no_meta(db, path);
    return identity;
}

// Checks that the database is ours or empty. @return false if it is empty.
bool check_owner(sqlite_db& db, const std::string& path) {
    const bool known = has_table(db, "meta");
    const bool used = known || has_table(db, "");
    const auto owner = static_cast<std::int64_t>(number_of(db, "PRAGMA application_id"));
    must(!db.failed(), db, path);
    if ((used && (!known || owner != application_id)) || (!used && owner != 0))
        throw error(errc::not_a_store, path, remedy_of(errc::not_a_store));
    return used;
}

// Sets what the connection needs and reads it back.
void set_up(sqlite_db& db, const std::string& path) {
    // Small pages, because each hand-off writes three of them into the log. Takes effect in a new
    // file only.
    must(
        db.run("PRAGMA page_size = 1024") && db.run("PRAGMA journal_mode = WAL") &&
            db.run("PRAGMA synchronous = NORMAL") && db.run("PRAGMA temp_store = MEMORY"),
        db,
        path
    );
    const std::string mode = text_of(db, "PRAGMA journal_mode");
    const std::uint64_t force = number_of(db, "PRAGMA synchronous");
    const std::uint64_t page_bytes = number_of(db, "PRAGMA page_size");
    must(!db.failed(), db, path);
    db.set_page_bytes(page_bytes);
    if (mode != "wal" || force != 1) {
        throw error(
            errc::not_writable,
            path + " (journal mode " + mode + ")",
            "SQLite cannot keep a write-ahead log there: use a local disk and a file of its own"
        );
    }
}

}  // namespace

store_identity open_schema(
    sqlite_db& db, const std::string& path, const std::string& domain, const std::string& boot
) {
    // Our own processes exclude each other by a file lock, so only a foreign program can make
    // SQLite busy; it gets a second to end.
    must(db.set_busy_max(std::chrono::seconds(1)), db, path);
    const bool used = check_owner(db, path);
    if (used)
        check_format(db, path);
    set_up(db, path);
    if (!used) {
        must(db.step("BEGIN IMMEDIATE"), db, path);
        make_tables(db, path, domain, boot);
    }
    store_identity identity = read_identity(db, path);
    if (!domain.empty() && identity.domain != domain) {
        throw error(
            errc::bad_config,
            "domain = \"" + domain + "\", but " + path + " has \"" + identity.domain + '"',
            "leave the domain empty, or use a new file"
        );
    }
    return identity;
}

void begin_epoch(
    sqlite_db& db,
    const std::string& path,
    store_identity& identity,
    const std::string& boot,
    clock::time_point quarantine_until
) {
    store_identity fresh = identity;
    if (identity.boot != boot) {
        fresh.boot = boot;
        fresh.incarnation = random_id::draw();
    }
    bool worked = db.run(
                      MORTISE_PLANTED(mark_not_synced) ? "PRAGMA synchronous = NORMAL"
                                                       : "PRAGMA synchronous = FULL"
                  ) &&
                  db.step("BEGIN IMMEDIATE");
    sqlite_query(
        db,
        "UPDATE meta SET boot_id = ?1, incarnation = ?2,"
        " quarantine_until = CASE boot_id WHEN ?1 THEN max(quarantine_until, ?3) ELSE ?3 END,"
        " token_next = max(token_next, token_mark),"
        " token_mark = max(token_next, token_mark) + ?4"
    )
        .bind_text(fresh.boot)
        .bind(fresh.incarnation)
        .bind_signed(quarantine_until.time_since_epoch().count())
        .bind(token_block)
        .step();
    worked = worked && db.step("DELETE FROM entry") && db.step("DELETE FROM session") &&
             db.step("COMMIT");
    must(worked, db, path);
    must(db.run("PRAGMA synchronous = NORMAL"), db, path);
    identity = fresh;
}

clock::time_point quarantine_in(sqlite_query& query, int column, clock::time_point now) {
    const auto last = coro::saturating_add(now, session_ttl_max).time_since_epoch();
    const auto until = query.within(column, 0, last.count(), "meta.quarantine_until");
    return clock::time_point(clock::duration(until));
}

bool reserve_tokens(sqlite_db& db) {
    bool worked = db.run("PRAGMA synchronous = FULL") && db.step("BEGIN IMMEDIATE");
    sqlite_query(db, "UPDATE meta SET token_mark = max(token_next, token_mark) + ?")
        .bind(token_block)
        .step();
    worked = worked && db.step("COMMIT") && db.run("PRAGMA synchronous = NORMAL");
    return worked;
}

}  // namespace mortise::store_detail
