// SPDX-License-Identifier: BSL-1.0
#include "log/log_entries.hpp"

#include "log/log_schema.hpp"
#include "log/plan.hpp"
#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/txn/error.hpp"
#include "planted_bugs.hpp"
#include "wall_clock.hpp"

#include <utility>

namespace mortise::txn::log {
namespace {

// These values are stored in logs: never change them.
enum state : std::int64_t { open = 1, confirmed = 2, cancelled = 3 };

std::uint64_t unsigned_of(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
}

standing standing_in(std::int64_t state) noexcept {
    return state == confirmed   ? standing::confirmed
           : state == cancelled ? standing::cancelled
                                : standing::open;
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

}  // namespace

void log_entries::go_on_above(db::connection& on, std::uint64_t number) {
    on.run("DELETE FROM sqlite_sequence WHERE name = 'mortise_txn' AND seq < ?1", number);
    on.run(
        "INSERT INTO sqlite_sequence(name, seq) SELECT 'mortise_txn', ?1"
        " WHERE NOT EXISTS(SELECT 1 FROM sqlite_sequence WHERE name = 'mortise_txn')",
        number
    );
}

namespace {

std::uint64_t last_number(db::connection& on) {
    auto row = on.query("SELECT seq FROM sqlite_sequence WHERE name = 'mortise_txn'");
    return row.step() ? unsigned_of(row.integer(0)) : 0;
}

std::uint64_t last_reserved(db::connection& on) {
    auto row = on.query("SELECT reserved FROM mortise_txn_log");
    return row.step() ? unsigned_of(row.integer(0)) : 0;
}

}  // namespace

void log_entries::go_on_above_reserved(db::connection& on) {
    if (detail::planted_bugs::reuse_numbers())
        return;
    if (const auto reserved = last_reserved(on); last_number(on) < reserved)
        go_on_above(on, reserved);
}

result<begun> log_entries::begin(
    db::connection& on,
    const term& by,
    const std::optional<std::string>& key,
    std::string_view plan,
    begin_way how
) {
    constexpr std::uint64_t reserved_at_once = 1'000;
    if (!log_terms::decides(on, by))
        return error_code(errc::stepped_down);
    if (how == begin_way::lazy && last_number(on) >= last_reserved(on))
        return begun();
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
        by.id,
        by.epoch
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
    if (how == begin_way::lazy)
        return entry;
    entry.change = log_terms::count_change(on, by.partition);
    if (how == begin_way::reserving) {
        entry.reserved = entry.number + reserved_at_once;
        on.run("UPDATE mortise_txn_log SET reserved = max(reserved, ?1)", entry.reserved);
    }
    return entry;
}

namespace {

error_code write_decision(
    db::connection& on,
    const term& by,
    std::uint64_t number,
    bool confirm,
    int why,
    std::string_view text
) {
    if (!log_terms::decides(on, by))
        return errc::stepped_down;
    on.run(
        "UPDATE mortise_txn SET state = ?2, why = ?3, text = ?4, decided_epoch = ?5,"
        " decided = " MORTISE_TXN_NOW " WHERE number = ?1 AND state = 1 AND part = ?6",
        number,
        confirm ? std::int64_t{confirmed} : std::int64_t{cancelled},
        why,
        text,
        by.epoch,
        by.partition
    );
    MORTISE_CRASH_POINT("log.decide");
    return on.changes() == 1 ? error_code() : errc::not_open;
}

}  // namespace

result<std::uint64_t> log_entries::decide(
    db::connection& on,
    const term& by,
    std::uint64_t number,
    bool confirm,
    int why,
    std::string_view text,
    std::string_view progress
) {
    if (const auto failed = write_decision(on, by, number, confirm, why, text))
        return failed;
    if (!progress.empty()) {
        auto row = on.query("UPDATE mortise_txn SET progress = ?2 WHERE number = ?1", number);
        row.bind_bytes(progress);
        row.run();
    }
    return log_terms::count_change(on, by.partition);
}

error_code log_entries::note_decision(
    db::connection& on,
    const term& by,
    std::uint64_t number,
    bool confirm,
    int why,
    std::string_view text
) {
    return write_decision(on, by, number, confirm, why, text);
}

error_code log_entries::note_progress(
    db::connection& on, const term& by, std::uint64_t number, std::string_view progress, bool ended
) {
    if (!log_terms::decides(on, by))
        return errc::stepped_down;
    auto row = on.query(
        "UPDATE mortise_txn SET ended = iif(?2, " MORTISE_TXN_NOW ", ended), progress = ?3"
        " WHERE number = ?1 AND ended IS NULL",
        number,
        ended ? 1 : 0
    );
    row.bind_bytes(progress);
    row.run();
    MORTISE_CRASH_POINT("log.progress");
    return {};
}

std::vector<logged> log_entries::open_after(
    db::connection& on, std::uint32_t partition, std::uint64_t after, std::size_t limit
) {
    std::vector<logged> found;
    auto row = on.query(
        std::string(select_logged) +
            " WHERE ended IS NULL AND number > ?1 AND part = ?2 ORDER BY number LIMIT ?3",
        after,
        partition,
        limit
    );
    while (row.step())
        found.push_back(logged_in(row));
    return found;
}

std::optional<logged> log_entries::find(db::connection& on, std::uint64_t number) {
    auto row = on.query(std::string(select_logged) + " WHERE number = ?1", number);
    return row.step() ? std::optional(logged_in(row)) : std::nullopt;
}

// Finds the ends per participant: a stuck transaction keeps only the rows of its own participants.
// It keeps everybody's if its plan cannot be read, because then the participants are unknown.
ends_search log_entries::search_ends(db::connection& on, ends_search so_far, std::size_t limit) {
    auto& others = so_far.found.others;
    if (so_far.after == 0) {
        others = last_number(on) + 1;
    }
    auto row = on.query(
        "SELECT number, plan FROM mortise_txn WHERE ended IS NULL AND number > ?1 AND number < ?2"
        " ORDER BY number LIMIT ?3",
        so_far.after,
        others,
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

verdict log_entries::verdict_on(db::connection& on, const gid& gid) {
    const auto known = log_schema::look(on);
    if (!known || known->id != gid.log)
        return {};
    constexpr const char* sql = "SELECT state, why, text FROM mortise_txn WHERE number = ?1";
    if (auto row = on.query(sql, gid.number); row.step())
        return verdict_in(row, 0);
    verdict gone;
    if (gid.number != 0 && gid.number <= last_number(on))
        gone.at = standing::forgotten;
    return gone;
}

prepared_standing log_entries::standing_of(db::connection& on, const prepared_branch& branch) {
    const auto found = find(on, branch.gid.number);
    if (!found || found->term != branch.term || log_schema::log_id(on) != branch.gid.log)
        return prepared_standing::unknown;
    if (!found->ended)
        return prepared_standing::under_way;
    return found->at == standing::confirmed ? prepared_standing::confirmed
                                            : prepared_standing::cancelled;
}

log_entries::purged log_entries::purge(
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
            after,
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
