// SPDX-License-Identifier: BSL-1.0
#include "log/log_tables.hpp"

#include "log/plan.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/txn/error.hpp"
#include "planted_bugs.hpp"
#include "wall_clock.hpp"

#include <utility>

namespace mortise::txn::log {
namespace {

constexpr std::int64_t format = 2;
constexpr std::int64_t format_without_changes = 1;

// These values are stored in logs: never change them.
enum state : std::int64_t { open = 1, confirmed = 2, cancelled = 3 };

constexpr const char* make_log =
    "CREATE TABLE mortise_txn_log(one INTEGER PRIMARY KEY CHECK(one = 1),"
    " format INTEGER NOT NULL, id INTEGER NOT NULL, partitions INTEGER NOT NULL,"
    " epochs TEXT NOT NULL)";
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
        stored(fresh.id),
        fresh.partitions
    );
}

verdict verdict_in(const db::statement& row, int column) {
    verdict result;
    result.at = standing_in(row.integer(column));
    result.why = static_cast<int>(row.integer(column + 1));
    result.text = row.text(column + 2);
    return result;
}

// Compares only the branches: a repetition may run under other locks, or in another trace.
bool same_branches(std::string_view a, std::string_view b) {
    if (a == b)
        return true;
    const auto one = plan::decode(a);
    const auto other = plan::decode(b);
    return one && other && one->branches == other->branches;
}

std::optional<begun> find_key(db::connection& on, const std::string& key, std::string_view plan) {
    constexpr const char* sql = "SELECT number, plan, state, why, text FROM mortise_txn"
                                " WHERE key = ?1";
    auto row = on.query(sql, key);
    if (!row.step())
        return std::nullopt;
    begun found;
    found.joined = true;
    found.number = same_branches(row.text(1), plan) ? unsigned_of(row.integer(0)) : 0;
    found.first = verdict_in(row, 2);
    return found;
}

constexpr const char* select_logged =
    "SELECT number, part, term, state, why, text, plan, progress, ended FROM mortise_txn";

logged logged_in(const db::statement& row) {
    logged entry;
    entry.number = unsigned_of(row.integer(0));
    entry.partition = static_cast<std::uint32_t>(row.integer(1));
    entry.term = unsigned_of(row.integer(2));
    entry.at = standing_in(row.integer(3));
    entry.why = static_cast<int>(row.integer(4));
    entry.text = row.text(5);
    entry.plan = row.text(6);
    entry.progress = row.text(7);
    entry.ended = !row.is_null(8);
    return entry;
}

/// Returns the domain whose tokens the epochs are; empty: they are not tokens.
std::string epochs_of(db::connection& on) {
    auto row = on.query("SELECT epochs FROM mortise_txn_log");
    return row.step() ? row.text(0) : std::string();
}

// Counts each change that somebody hears of. A log with a lower count than its mark is an old copy.
std::uint64_t count_change(db::connection& on, std::uint32_t partition) {
    auto row = on.query(
        "UPDATE mortise_txn_partition SET changes = changes + 1 WHERE id = ?1 RETURNING changes",
        partition
    );
    const auto changes = row.step() ? unsigned_of(row.integer(0)) : 0;
    while (row.step()) {
    }
    return changes;
}

void add_changes(db::connection& on) {
    on.run("ALTER TABLE mortise_txn_partition ADD COLUMN changes INTEGER NOT NULL DEFAULT 0");
    on.run("UPDATE mortise_txn_log SET format = ?1", format);
}

std::uint64_t epoch_of(db::connection& on, std::uint32_t partition) {
    auto row = on.query("SELECT epoch FROM mortise_txn_partition WHERE id = ?1", partition);
    return row.step() ? unsigned_of(row.integer(0)) : 0;
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
    if (found != format && found != format_without_changes) {
        throw error(
            errc::newer_log,
            "format " + std::to_string(found),
            "use the version of mortise that wrote it"
        );
    }
    return {found, {unsigned_of(row.integer(1)), static_cast<std::uint32_t>(row.integer(2))}};
}

/// Whether the tables of a log exist; false if the database is empty. @throws error `not_a_log`
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

log_facts log_tables::prepare(db::connection& on, const log_facts& fresh) {
    if (!is_made(on))
        make_tables(on, fresh);
    const auto found = read_facts(on);
    if (found.format == format_without_changes)
        add_changes(on);
    return found.facts;
}

std::optional<log_facts> log_tables::look(db::connection& on) {
    if (!is_made(on))
        return std::nullopt;
    return read_facts(on).facts;
}

std::uint64_t log_tables::changes(db::connection& on, std::uint32_t partition) {
    auto row = on.query("SELECT changes FROM mortise_txn_partition WHERE id = ?1", partition);
    return row.step() ? unsigned_of(row.integer(0)) : 0;
}

void log_tables::go_on_above(db::connection& on, std::uint64_t number) {
    on.run("DELETE FROM sqlite_sequence WHERE name = 'mortise_txn' AND seq < ?1", stored(number));
    on.run(
        "INSERT INTO sqlite_sequence(name, seq) SELECT 'mortise_txn', ?1"
        " WHERE NOT EXISTS(SELECT 1 FROM sqlite_sequence WHERE name = 'mortise_txn')",
        stored(number)
    );
}

// Adds the changes that are missing, because each was at most one epoch. Epochs that are tokens
// grow by themselves.
void log_tables::go_on_above(db::connection& on, std::uint32_t partition, std::uint64_t changes) {
    on.run(
        "INSERT INTO mortise_txn_partition(id, epoch, term, changes) VALUES(?1, 0, 0, 0)"
        " ON CONFLICT(id) DO NOTHING",
        partition
    );
    if (epochs_of(on).empty()) {
        on.run(
            "UPDATE mortise_txn_partition SET epoch = epoch + max(?2 - changes, 0) WHERE id = ?1",
            partition,
            stored(changes)
        );
    }
    on.run(
        "UPDATE mortise_txn_partition SET changes = max(changes, ?2) WHERE id = ?1",
        partition,
        stored(changes)
    );
}

bool log_tables::decides(db::connection& on, const term& by) {
    if (detail::planted_bugs::log_without_epoch())
        return true;
    auto row = on.query(
        "SELECT 1 FROM mortise_txn_partition WHERE id = ?1 AND epoch = ?2 AND term = ?3",
        by.partition,
        stored(by.epoch),
        stored(by.id)
    );
    return row.step();
}

std::uint64_t log_tables::log_id(db::connection& on) {
    const auto found = look(on);
    return found ? found->id : 0;
}

// Begins a term. A log can pass from coordinators without locks, which count its terms, to those
// with locks, whose tokens are higher. It never passes back, nor to locks of another domain.
result<term> log_tables::take_over(
    db::connection& on,
    std::uint64_t log,
    std::uint32_t partition,
    const std::optional<fencing_token>& epoch,
    std::uint64_t id
) {
    const std::string domain(epoch ? epoch->domain.name() : "");
    const auto known = epochs_of(on);
    if (!known.empty() && known != domain)
        return error_code(errc::foreign_epochs);
    const auto before = epoch_of(on, partition);
    if (epoch && epoch->value <= before)
        return error_code(errc::stepped_down);
    term term{log, partition, epoch ? epoch->value : before + 1, id};
    if (known != domain)
        on.run("UPDATE mortise_txn_log SET epochs = ?1", domain);
    MORTISE_CRASH_POINT("log.take_over");
    on.run(
        "INSERT INTO mortise_txn_partition(id, epoch, term) VALUES(?1, ?2, ?3)"
        " ON CONFLICT(id) DO UPDATE SET epoch = excluded.epoch, term = excluded.term",
        partition,
        stored(term.epoch),
        stored(id)
    );
    term.change = count_change(on, partition);
    return term;
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
    MORTISE_CRASH_POINT("log.begin");
    begun entry;
    entry.number = unsigned_of(on.last_insert_id());
    entry.change = count_change(on, by.partition);
    return entry;
}

result<std::uint64_t> log_tables::decide(
    db::connection& on,
    const term& by,
    std::uint64_t number,
    bool confirm,
    int why,
    std::string_view text
) {
    if (!decides(on, by))
        return error_code(errc::stepped_down);
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
    MORTISE_CRASH_POINT("log.decide");
    if (on.changes() != 1)
        return error_code(errc::not_open);
    return count_change(on, by.partition);
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
    MORTISE_CRASH_POINT("log.progress");
    return {};
}

std::vector<logged> log_tables::open_after(
    db::connection& on, std::uint32_t partition, std::uint64_t after, std::size_t limit
) {
    std::vector<logged> found;
    auto row = on.query(
        std::string(select_logged) +
            " WHERE ended IS NULL AND number > ?1 AND part = ?2 ORDER BY number LIMIT ?3",
        stored(after),
        partition,
        limit
    );
    while (row.step())
        found.push_back(logged_in(row));
    return found;
}

std::optional<logged> log_tables::find(db::connection& on, std::uint64_t number) {
    auto row = on.query(std::string(select_logged) + " WHERE number = ?1", stored(number));
    return row.step() ? std::optional(logged_in(row)) : std::nullopt;
}

// Finds the ends per participant: a stuck transaction keeps only the rows of its own participants.
// It keeps everybody's if its plan cannot be read, because then the participants are unknown.
ends_search log_tables::search_ends(db::connection& on, ends_search so_far, std::size_t limit) {
    auto& others = so_far.found.others;
    if (so_far.after == 0) {
        auto row = on.query("SELECT seq FROM sqlite_sequence WHERE name = 'mortise_txn'");
        others = row.step() ? unsigned_of(row.integer(0)) + 1 : 1;
    }
    auto row = on.query(
        "SELECT number, plan FROM mortise_txn WHERE ended IS NULL AND number > ?1 AND number < ?2"
        " ORDER BY number LIMIT ?3",
        stored(so_far.after),
        stored(others),
        limit
    );
    std::size_t read = 0;
    for (; row.step(); ++read) {
        so_far.after = unsigned_of(row.integer(0));
        const auto found = plan::decode(row.text(1));
        if (!found) {
            others = so_far.after;
            so_far.complete = true;
            return so_far;
        }
        for (const auto& each : found->branches)
            so_far.found.some.try_emplace(each.participant, so_far.after);
    }
    so_far.seen += read;
    so_far.complete = read < limit;
    return so_far;
}

verdict log_tables::verdict_on(db::connection& on, const gid& gid) {
    const auto known = look(on);
    if (!known || known->id != gid.log)
        return {};
    constexpr const char* sql = "SELECT state, why, text FROM mortise_txn WHERE number = ?1";
    if (auto row = on.query(sql, stored(gid.number)); row.step())
        return verdict_in(row, 0);
    auto row = on.query("SELECT seq FROM sqlite_sequence WHERE name = 'mortise_txn'");
    const auto last = row.step() ? unsigned_of(row.integer(0)) : 0;
    verdict gone;
    if (gid.number != 0 && gid.number <= last)
        gone.at = standing::forgotten;
    return gone;
}

log_tables::purged log_tables::purge(
    db::connection& on, std::chrono::milliseconds older_than, std::uint64_t after, std::size_t limit
) {
    purged result;
    std::vector<std::int64_t> old;
    std::size_t seen = 0;
    {
        auto row = on.query(
            "SELECT number, coalesce(ended <= " MORTISE_TXN_NOW " - ?1, 0) FROM mortise_txn"
            " WHERE number > ?2 ORDER BY number LIMIT ?3",
            older_than.count(),
            stored(after),
            limit
        );
        for (; row.step(); ++seen) {
            result.seen_to = unsigned_of(row.integer(0));
            if (row.integer(1) != 0)
                old.push_back(row.integer(0));
        }
    }
    for (const auto number : old) {
        on.run("DELETE FROM mortise_txn_action WHERE number = ?1", number);
        on.run("DELETE FROM mortise_txn WHERE number = ?1", number);
    }
    result.forgotten = old.size();
    if (seen < limit)
        result.seen_to = 0;
    return result;
}

}  // namespace mortise::txn::log
