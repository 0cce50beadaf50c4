// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/barrier.hpp"

#include "mortise/fence/sqlite.hpp"
#include "mortise/txn/error.hpp"
#include "planted_bugs.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mortise::txn {
namespace {

using std::chrono::milliseconds;

// These values are stored in tables: never change them.
enum state : std::int64_t { tried = 1, confirmed = 2, cancelled = 3, refused = 4 };

constexpr const char* make_branches =
    "CREATE TABLE IF NOT EXISTS mortise_txn_branch("
    "log INTEGER NOT NULL, number INTEGER NOT NULL, branch INTEGER NOT NULL,"
    " state INTEGER NOT NULL, epoch INTEGER NOT NULL, term INTEGER NOT NULL,"
    " overdue INTEGER NOT NULL, participant TEXT NOT NULL, reply BLOB,"
    " PRIMARY KEY(log, number, branch)) WITHOUT ROWID";
constexpr const char* make_overdue =
    "CREATE INDEX IF NOT EXISTS mortise_txn_overdue ON mortise_txn_branch(overdue)"
    " WHERE state = 1";
// Per log and participant: the number below which all of the participant's transactions have ended,
// and the last branch that was checked for forgetting.
constexpr const char* make_ends =
    "CREATE TABLE IF NOT EXISTS mortise_txn_ends("
    "log INTEGER NOT NULL, participant TEXT NOT NULL, ended_below INTEGER NOT NULL,"
    " looked_number INTEGER NOT NULL DEFAULT 0, looked_branch INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY(log, participant)) WITHOUT ROWID";

// How far the stored number may lag behind the calls, so that not every call writes it.
constexpr std::uint64_t lag = 256;
// Branches that each call checks: more than a call adds, so the table does not grow without limit.
constexpr std::size_t looked_at_once = 32;

std::int64_t stored(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>(value);
}

/// A branch as it stands in the table.
struct known_branch {
    std::int64_t state;
    std::int64_t epoch;
    std::int64_t term;
    reply answer;
};

std::optional<known_branch> find(db::connection& on, const call& call) {
    auto row = on.query(
        "SELECT state, epoch, term, reply FROM mortise_txn_branch"
        " WHERE log = ?1 AND number = ?2 AND branch = ?3",
        stored(call.gid.log),
        stored(call.gid.number),
        call.branch
    );
    if (!row.step())
        return std::nullopt;
    known_branch found{row.integer(0), row.integer(1), row.integer(2), {}};
    found.answer.payload = row.text(3);
    if (found.state == refused)
        found.answer.type = reply::verdict::refused;
    return found;
}

void insert(db::connection& on, const call& call, state as, const reply& answer) {
    constexpr milliseconds longest = std::chrono::hours(24 * 365);
    const auto left = std::clamp(call.time_left, milliseconds(0), longest);
    auto row = on.query(
        "INSERT INTO mortise_txn_branch"
        "(log, number, branch, state, epoch, term, overdue, participant, reply)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, " MORTISE_TXN_NOW " + ?7, ?8, ?9)",
        stored(call.gid.log),
        stored(call.gid.number),
        call.branch,
        static_cast<std::int64_t>(as),
        stored(call.epoch),
        stored(call.term),
        left.count(),
        call.participant
    );
    row.bind_bytes(answer.payload);
    row.run();
}

void update(db::connection& on, const call& call, state to, const reply& answer) {
    auto row = on.query(
        "UPDATE mortise_txn_branch SET state = ?4, epoch = ?5, reply = ?6"
        " WHERE log = ?1 AND number = ?2 AND branch = ?3",
        stored(call.gid.log),
        stored(call.gid.number),
        call.branch,
        static_cast<std::int64_t>(to),
        stored(call.epoch)
    );
    row.bind_bytes(answer.payload);
    row.run();
}

/// What a participant knows of the ended transactions of one log.
struct known_ends {
    std::uint64_t below = 0;
    std::int64_t looked_number = 0;
    std::int64_t looked_branch = 0;
};

std::optional<known_ends> find_ends(db::connection& on, const call& call) {
    auto row = on.query(
        "SELECT ended_below, looked_number, looked_branch FROM mortise_txn_ends"
        " WHERE log = ?1 AND participant = ?2",
        stored(call.gid.log),
        call.participant
    );
    if (!row.step())
        return std::nullopt;
    return known_ends{static_cast<std::uint64_t>(row.integer(0)), row.integer(1), row.integer(2)};
}

// Reads the number that versions before 0.2 kept for all participants of a database.
std::uint64_t forgotten_before(db::connection& on, const call& call) {
    {
        auto row = on.query("SELECT 1 FROM sqlite_master WHERE name = 'mortise_txn_seen'");
        if (!row.step())
            return 0;
    }
    auto row =
        on.query("SELECT purged_below FROM mortise_txn_seen WHERE log = ?1", stored(call.gid.log));
    return row.step() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

/// Stores which transactions have ended, as the call says. All below the number are over from here.
known_ends note_ends(db::connection& on, const call& call) {
    // A call proves that its own transaction has not ended, so the number cannot be above it.
    const auto ended_below = std::min(call.ended_below, call.gid.number);
    const auto stored_ends = find_ends(on, call);
    auto ends = stored_ends.value_or(known_ends());
    if (!stored_ends)
        ends.below = forgotten_before(on, call);
    const bool advances = ended_below >= ends.below + lag;
    if (advances)
        ends.below = ended_below;
    if (advances || !stored_ends) {
        on.run(
            "INSERT INTO mortise_txn_ends(log, participant, ended_below) VALUES(?1, ?2, ?3)"
            " ON CONFLICT(log, participant) DO UPDATE SET ended_below = excluded.ended_below",
            stored(call.gid.log),
            call.participant,
            stored(ends.below)
        );
    }
    return ends;
}

/// Forgets some of the participant's branches that are over. Each branch is checked once: one that
/// is still reserved then, or belongs to another participant, stays.
void forget_some(db::connection& on, const call& call, known_ends ends) {
    const auto last = stored(ends.below) - 1;
    constexpr std::int64_t any_branch = std::numeric_limits<std::uint32_t>::max();
    if (ends.looked_number >= last)
        return;
    std::vector<std::pair<std::int64_t, std::int64_t>> old;
    std::size_t seen = 0;
    {
        auto row = on.query(
            "SELECT number, branch, state <> 1 AND participant = ?5 FROM mortise_txn_branch"
            " WHERE log = ?1 AND number >= ?2 AND number <= ?4 AND (number, branch) > (?2, ?3)"
            " ORDER BY number, branch LIMIT ?6",
            stored(call.gid.log),
            ends.looked_number,
            ends.looked_branch,
            last,
            call.participant,
            looked_at_once
        );
        for (; row.step(); ++seen) {
            ends.looked_number = row.integer(0);
            ends.looked_branch = row.integer(1);
            if (row.integer(2) != 0)
                old.emplace_back(ends.looked_number, ends.looked_branch);
        }
    }
    if (seen < looked_at_once) {
        ends.looked_number = last;
        ends.looked_branch = any_branch;
    }
    for (const auto& [number, branch] : old)
        on.run(
            "DELETE FROM mortise_txn_branch WHERE log = ?1 AND number = ?2 AND branch = ?3",
            stored(call.gid.log),
            number,
            branch
        );
    on.run(
        "UPDATE mortise_txn_ends SET looked_number = ?3, looked_branch = ?4"
        " WHERE log = ?1 AND participant = ?2",
        stored(call.gid.log),
        call.participant,
        ends.looked_number,
        ends.looked_branch
    );
}

error_code raise_fences(db::connection& on, const call& call) {
    for (const auto& each : call.locks) {
        if (const auto failed = sqlite_fence::admit(on.handle(), each.name, each.token))
            return failed;
    }
    return {};
}

}  // namespace

result<std::uint64_t> barrier::begin(db::connection& on, const call& call) {
    if (::sqlite3_get_autocommit(on.handle()) != 0)
        return error_code(mortise::errc::no_transaction);
    on.run(make_branches);
    on.run(make_overdue);
    on.run(make_ends);
    const auto ends = note_ends(on, call);
    forget_some(on, call, ends);
    on.run("SAVEPOINT mortise_txn");
    return ends.below;
}

void barrier::end(db::connection& on, bool keep) {
    if (!keep)
        on.run("ROLLBACK TO mortise_txn");
    on.run("RELEASE mortise_txn");
}

result<std::optional<reply>>
barrier::judge(db::connection& on, const call& call, std::uint64_t ended_below) {
    auto known = find(on, call);
    reply::evidence seen;
    if (known && known->term != stored(call.term))
        seen.term = static_cast<std::uint64_t>(known->term);
    else if (known && static_cast<std::uint64_t>(known->epoch) > call.epoch)
        seen.epoch = static_cast<std::uint64_t>(known->epoch);
    const bool over = !known && call.gid.number < ended_below;
    if (over && call.type == operation::cancel && call.presumed)
        seen.ended_below = ended_below;
    if (seen != reply::evidence())
        return std::optional(reply::ahead(seen));
    switch (call.type) {
    case operation::try_:
        if (over || (known && known->state == cancelled))
            return error_code(errc::late_try);
        if (known)
            return std::optional(std::move(known->answer));
        if (const auto failed = raise_fences(on, call))
            return failed;
        insert(on, call, tried, reply());
        break;
    case operation::confirm:
        if (over || (known && known->state == confirmed))
            return std::optional(known ? std::move(known->answer) : reply());
        if (!known)
            return error_code(errc::unknown_branch);
        if (known->state != tried)
            return error_code(errc::conflict);
        break;
    case operation::cancel:
        if (known && known->state == confirmed)
            return error_code(errc::conflict);
        if (known && known->state == cancelled)
            return std::optional(std::move(known->answer));
        if (!known && !over && !detail::planted_bugs::no_tombstone())
            insert(on, call, cancelled, reply());
        if (!known || known->state == refused)
            return std::optional(reply());
        break;
    }
    return std::optional<reply>();
}

void barrier::remember(db::connection& on, const call& call, const reply& answer) {
    if (answer.type == reply::verdict::done) {
        const auto to = call.type == operation::try_      ? tried
                        : call.type == operation::confirm ? confirmed
                                                          : cancelled;
        if (to != tried || !answer.payload.empty())
            update(on, call, to, answer);
    } else if (answer.type == reply::verdict::refused && call.type == operation::try_) {
        insert(on, call, refused, answer);
    }
}

std::vector<barrier::overdue_branch> barrier::overdue(db::connection& on, std::size_t limit) {
    std::vector<overdue_branch> found;
    on.run(make_branches);
    on.run(make_overdue);
    auto row = on.query(
        "SELECT log, number, branch, participant, " MORTISE_TXN_NOW " - overdue"
        " FROM mortise_txn_branch WHERE state = 1 AND overdue < " MORTISE_TXN_NOW
        " ORDER BY overdue LIMIT ?1",
        limit
    );
    while (row.step()) {
        overdue_branch each;
        each.gid.log = static_cast<std::uint64_t>(row.integer(0));
        each.gid.number = static_cast<std::uint64_t>(row.integer(1));
        each.branch = static_cast<std::uint32_t>(row.integer(2));
        each.participant = row.text(3);
        each.since = milliseconds(row.integer(4));
        found.push_back(std::move(each));
    }
    return found;
}

// Makes the cancel that the coordinator of the try would send.
result<call> barrier::own_cancel(db::connection& on, const overdue_branch& branch) {
    on.run(make_branches);
    call call;
    call.type = operation::cancel;
    call.gid = branch.gid;
    call.branch = branch.branch;
    call.participant = branch.participant;
    const auto known = find(on, call);
    if (!known)
        return error_code(errc::unknown_branch);
    call.epoch = static_cast<std::uint64_t>(known->epoch);
    call.term = static_cast<std::uint64_t>(known->term);
    return call;
}

std::optional<milliseconds> barrier::next_overdue(db::connection& on) {
    on.run(make_branches);
    on.run(make_overdue);
    auto row =
        on.query("SELECT overdue - " MORTISE_TXN_NOW " FROM mortise_txn_branch"
                 " WHERE state = 1 AND overdue >= " MORTISE_TXN_NOW " ORDER BY overdue LIMIT 1");
    if (!row.step())
        return std::nullopt;
    return milliseconds(std::max<std::int64_t>(row.integer(0), 0) + 1);
}

std::size_t barrier::purge(db::connection& on, std::size_t limit) {
    on.run(make_branches);
    on.run(make_ends);
    on.run(
        "DELETE FROM mortise_txn_branch WHERE state <> 1 AND (log, number, branch) IN ("
        "SELECT b.log, b.number, b.branch FROM mortise_txn_ends AS s"
        " CROSS JOIN mortise_txn_branch AS b ON b.log = s.log AND b.number < s.ended_below"
        " WHERE b.state <> 1 AND b.participant = s.participant LIMIT ?1)",
        limit
    );
    return static_cast<std::size_t>(on.changes());
}

}  // namespace mortise::txn
