// SPDX-License-Identifier: BSL-1.0
#include "log/log_schema.hpp"

#include "mortise/txn/error.hpp"

#include <string>

namespace mortise::txn::log {
namespace {

constexpr std::int64_t format = 3;
constexpr std::int64_t format_without_changes = 1;

constexpr const char* make_log =
    "CREATE TABLE mortise_txn_log(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " format INTEGER NOT NULL, id INTEGER NOT NULL, partitions INTEGER NOT NULL,"
    " epochs TEXT NOT NULL, reserved INTEGER NOT NULL DEFAULT 0)";
constexpr const char* make_partitions =
    "CREATE TABLE mortise_txn_partition(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,"
    " term INTEGER NOT NULL, changes INTEGER NOT NULL DEFAULT 0)";
// AUTOINCREMENT: SQLite never gives a number twice, even after rows were deleted.
constexpr const char* make_transactions =
    "CREATE TABLE mortise_txn(number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " part INTEGER NOT NULL, state INTEGER NOT NULL, term INTEGER NOT NULL,"
    " begun_epoch INTEGER NOT NULL, decided_epoch INTEGER NOT NULL DEFAULT 0,"
    " begun INTEGER NOT NULL, decided INTEGER, ended INTEGER,"
    " why INTEGER NOT NULL DEFAULT 0, text TEXT, key TEXT, plan BLOB NOT NULL, progress BLOB)";
constexpr const char* make_open =
    "CREATE INDEX mortise_txn_open ON mortise_txn(number) WHERE ended IS NULL";
constexpr const char* make_keys =
    "CREATE UNIQUE INDEX mortise_txn_keys ON mortise_txn(key) WHERE key IS NOT NULL";
constexpr const char* make_actions =
    "CREATE TABLE mortise_txn_action(id INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
    " branch INTEGER NOT NULL, what TEXT NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL,"
    " at INTEGER NOT NULL)";
constexpr const char* make_actions_of =
    "CREATE INDEX mortise_txn_actions_of ON mortise_txn_action(number)";

void make_tables(db::connection& on, const log_facts& fresh) {
    for (const char* each :
         {make_log,
          make_partitions,
          make_transactions,
          make_open,
          make_keys,
          make_actions,
          make_actions_of})
        on.run(each);
    on.run(
        "INSERT INTO mortise_txn_log(one, format, id, partitions, epochs)"
        " VALUES(1, ?1, ?2, ?3, '')",
        format,
        fresh.id,
        fresh.partitions
    );
}

void upgrade(db::connection& on, std::int64_t from) {
    if (from == format_without_changes)
        on.run("ALTER TABLE mortise_txn_partition ADD COLUMN changes INTEGER NOT NULL DEFAULT 0");
    on.run("ALTER TABLE mortise_txn_log ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0");
    on.run("UPDATE mortise_txn_log SET format = ?1", format);
}

struct found_facts {
    std::int64_t format;
    log_facts facts;
};

found_facts read_facts(db::connection& on) {
    auto row = on.query("SELECT format, id, partitions FROM mortise_txn_log");
    if (!row.step())
        throw error(errc::log_corrupt, "mortise_txn_log is empty", "restore the log");
    const auto found = row.integer(0);
    if (found < format_without_changes || found > format) {
        throw error(
            errc::newer_log,
            "format " + std::to_string(found),
            "use the version of mortise that wrote it"
        );
    }
    return {
        found,
        {static_cast<std::uint64_t>(row.integer(1)), static_cast<std::uint32_t>(row.integer(2))}};
}

// Whether the tables of a log exist; false if the database is empty. @throws error `not_a_log`
bool is_made(db::connection& on) {
    bool any = false;
    auto row = on.query("SELECT name FROM sqlite_master WHERE type = 'table'");
    while (row.step()) {
        if (row.text(0) == "mortise_txn_log")
            return true;
        any = true;
    }
    if (any)
        throw error(errc::not_a_log, "", "name another file for the log");
    return false;
}

}  // namespace

log_facts log_schema::prepare(db::connection& on, const log_facts& fresh) {
    if (!is_made(on))
        make_tables(on, fresh);
    const auto found = read_facts(on);
    if (found.format != format)
        upgrade(on, found.format);
    return found.facts;
}

std::optional<log_facts> log_schema::look(db::connection& on) {
    if (!is_made(on))
        return std::nullopt;
    return read_facts(on).facts;
}

std::uint64_t log_schema::log_id(db::connection& on) {
    const auto found = look(on);
    return found ? found->id : 0;
}

}  // namespace mortise::txn::log
