// SPDX-License-Identifier: BSL-1.0
#include "log/log_tables.hpp"

#include "mortise/txn/error.hpp"
#include "wall_clock.hpp"

#include <utility>

namespace mortise::txn::log {
namespace {

constexpr std::int64_t format = 1;

// As they stand in the log: never change them.
enum state : std::int64_t { open = 1, confirmed = 2, cancelled = 3 };

constexpr const char* make_log =
    "CREATE TABLE mortise_txn_log(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " format INTEGER NOT NULL, id INTEGER NOT NULL, epochs TEXT)";
constexpr const char* make_partitions =
    "CREATE TABLE mortise_txn_partition(id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,"
    " term INTEGER NOT NULL)";
// A number is never given twice, whatever was deleted.
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

std::int64_t stored(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>(value);
}

std::uint64_t unsigned_of(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
}

standing standing_in(std::int64_t state) noexcept {
    return state == confirmed   ? standing::confirmed
           : state == cancelled ? standing::cancelled
                                : standing::open;
}

void make_tables(db::connection& on, std::uint64_t id) {
    for (const char* each :
         {make_log, make_partitions, make_transactions, make_open, make_keys, make_actions})
        on.run(each);
    on.run("INSERT INTO mortise_txn_log(one, format, id) VALUES(1, ?1, ?2)", format, stored(id));
}

std::optional<begun> find_key(db::connection& on, const std::string& key, std::string_view plan) {
    auto row = on.query("SELECT number, state, why, plan FROM mortise_txn WHERE key = ?1", key);
    if (!row.step())
        return std::nullopt;
    begun found;
    found.joined = true;
    found.number = row.text(3) == plan ? unsigned_of(row.integer(0)) : 0;
    found.at = standing_in(row.integer(1));
    found.why = static_cast<int>(row.integer(2));
    return found;
}

}  // namespace

std::uint64_t log_tables::prepare(db::connection& on, std::uint64_t new_id) {
    bool mine = false;
    bool any = false;
    {
        auto row = on.query("SELECT name FROM sqlite_master WHERE type = 'table'");
        while (row.step()) {
            any = true;
            mine = mine || row.text(0) == "mortise_txn_log";
        }
    }
    if (!mine && any)
        throw error(errc::not_a_log, "", "name another file for the log");
    if (!mine)
        make_tables(on, new_id);
    auto row = on.query("SELECT format, id FROM mortise_txn_log");
    if (!row.step())
        throw error(errc::log_corrupt, "mortise_txn_log is empty", "restore the log");
    if (row.integer(0) != format) {
        throw error(
            errc::newer_log,
            "format " + std::to_string(row.integer(0)),
            "use the version of mortise that wrote it"
        );
    }
    return unsigned_of(row.integer(1));
}

bool log_tables::decides(db::connection& on, const term& by) {
    auto row = on.query(
        "SELECT 1 FROM mortise_txn_partition WHERE id = ?1 AND epoch = ?2 AND term = ?3",
        by.partition,
        stored(by.epoch),
        stored(by.id)
    );
    return row.step();
}

std::uint64_t log_tables::log_id(db::connection& on) {
    auto row = on.query("SELECT id FROM mortise_txn_log");
    return row.step() ? unsigned_of(row.integer(0)) : 0;
}

result<term> log_tables::take_over(
    db::connection& on,
    std::uint64_t log,
    std::uint32_t partition,
    std::uint64_t epoch,
    std::string_view domain,
    std::uint64_t id
) {
    std::uint64_t before = 0;
    {
        auto row = on.query("SELECT epoch FROM mortise_txn_partition WHERE id = ?1", partition);
        if (row.step())
            before = unsigned_of(row.integer(0));
    }
    std::optional<std::string> known;
    {
        auto row = on.query("SELECT epochs FROM mortise_txn_log");
        if (row.step() && !row.is_null(0))
            known = row.text(0);
    }
    if (known && *known != domain)
        return error_code(errc::foreign_epochs);
    if (!known)
        on.run("UPDATE mortise_txn_log SET epochs = ?1", domain);
    if (epoch != 0 && epoch <= before)
        return error_code(errc::stepped_down);
    const term made{log, partition, epoch != 0 ? epoch : before + 1, id};
    on.run(
        "INSERT INTO mortise_txn_partition(id, epoch, term) VALUES(?1, ?2, ?3)"
        " ON CONFLICT(id) DO UPDATE SET epoch = excluded.epoch, term = excluded.term",
        partition,
        stored(made.epoch),
        stored(id)
    );
    return made;
}

result<begun> log_tables::begin(
    db::connection& on, const term& by, const std::optional<std::string>& key, std::string_view plan
) {
    if (!decides(on, by))
        return error_code(errc::stepped_down);
    if (key) {
        if (const auto found = find_key(on, *key, plan)) {
            if (found->number == 0)
                return error_code(errc::key_reused);
            return *found;
        }
    }
    auto row = on.query(
        "INSERT INTO mortise_txn(part, state, term, begun_epoch, begun, key, plan)"
        " VALUES(?1, 1, ?2, ?3, " MORTISE_TXN_NOW ", ?4, ?5)",
        by.partition,
        stored(by.id),
        stored(by.epoch)
    );
    if (key)
        row.bind(*key);
    else
        row.bind(nullptr);
    row.bind_bytes(plan);
    row.run();
    begun made;
    made.number = unsigned_of(on.last_insert_id());
    return made;
}

error_code log_tables::decide(
    db::connection& on,
    const term& by,
    std::uint64_t number,
    bool confirm,
    int why,
    std::string_view text
) {
    if (!decides(on, by))
        return errc::stepped_down;
    on.run(
        "UPDATE mortise_txn SET state = ?2, why = ?3, text = ?4, decided_epoch = ?5,"
        " decided = " MORTISE_TXN_NOW " WHERE number = ?1 AND state = 1 AND part = ?6",
        stored(number),
        confirm ? std::int64_t{confirmed} : std::int64_t{cancelled},
        why,
        text,
        stored(by.epoch),
        by.partition
    );
    return on.changes() == 1 ? error_code() : errc::not_open;
}

error_code log_tables::note_progress(
    db::connection& on, const term& by, std::uint64_t number, std::string_view progress, bool ended
) {
    if (!decides(on, by))
        return errc::stepped_down;
    auto row = on.query(
        "UPDATE mortise_txn SET ended = iif(?2, " MORTISE_TXN_NOW ", ended), progress = ?3"
        " WHERE number = ?1 AND ended IS NULL",
        stored(number),
        ended ? 1 : 0
    );
    row.bind_bytes(progress);
    row.run();
    return {};
}

std::vector<logged> log_tables::open_after(
    db::connection& on, std::uint32_t partition, std::uint64_t after, std::size_t limit
) {
    std::vector<logged> found;
    auto row = on.query(
        "SELECT number, term, state, why, text, plan, progress FROM mortise_txn"
        " WHERE ended IS NULL AND number > ?1 AND part = ?2 ORDER BY number LIMIT ?3",
        stored(after),
        partition,
        limit
    );
    while (row.step()) {
        logged each;
        each.number = unsigned_of(row.integer(0));
        each.term = unsigned_of(row.integer(1));
        each.at = standing_in(row.integer(2));
        each.why = static_cast<int>(row.integer(3));
        each.text = row.text(4);
        each.plan = row.text(5);
        each.progress = row.text(6);
        found.push_back(std::move(each));
    }
    return found;
}

std::uint64_t log_tables::ended_below(db::connection& on) {
    {
        auto row = on.query("SELECT min(number) FROM mortise_txn WHERE ended IS NULL");
        if (row.step() && !row.is_null(0))
            return unsigned_of(row.integer(0));
    }
    auto row = on.query("SELECT seq FROM sqlite_sequence WHERE name = 'mortise_txn'");
    return row.step() ? unsigned_of(row.integer(0)) + 1 : 1;
}

standing log_tables::standing_of(db::connection& on, std::uint64_t number, int& why) {
    {
        auto row = on.query("SELECT state, why FROM mortise_txn WHERE number = ?1", stored(number));
        if (row.step()) {
            why = static_cast<int>(row.integer(1));
            return standing_in(row.integer(0));
        }
    }
    auto row = on.query("SELECT seq FROM sqlite_sequence WHERE name = 'mortise_txn'");
    const auto last = row.step() ? unsigned_of(row.integer(0)) : 0;
    return number <= last ? standing::forgotten : standing::never_existed;
}

std::size_t log_tables::purge(db::connection& on, std::int64_t before_ms, std::size_t limit) {
    on.run(
        "DELETE FROM mortise_txn WHERE number IN (SELECT number FROM mortise_txn"
        " WHERE ended < ?1 ORDER BY number LIMIT ?2)",
        before_ms,
        limit
    );
    return static_cast<std::size_t>(on.changes());
}

}  // namespace mortise::txn::log
