// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/barrier.hpp"

#include "mortise/coro/detail/crash_point.hpp"
#include "mortise/fence/sqlite.hpp"
#include "mortise/txn/error.hpp"
#include "wall_clock.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <utility>

namespace mortise::txn {
namespace {

using std::chrono::milliseconds;

// As they stand in the tables: never change them.
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
constexpr const char* make_seen =
    "CREATE TABLE IF NOT EXISTS mortise_txn_seen("
    "log INTEGER PRIMARY KEY, ended_below INTEGER NOT NULL, purged_below INTEGER NOT NULL)";

// How far what is known of the ends may lag behind: it need not be written with every call.
constexpr std::uint64_t lag = 256;

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

std::optional<known_branch> find(db::connection& on, const call& what) {
    auto row = on.query(
        "SELECT state, epoch, term, reply FROM mortise_txn_branch"
        " WHERE log = ?1 AND number = ?2 AND branch = ?3",
        stored(what.gid.log),
        stored(what.gid.number),
        what.branch
    );
    if (!row.step())
        return std::nullopt;
    known_branch found{row.integer(0), row.integer(1), row.integer(2), {}};
    found.answer.payload = row.text(3);
    if (found.state == refused)
        found.answer.what = reply::verdict::refused;
    return found;
}

void insert(db::connection& on, const call& what, state as, const reply& answer) {
    constexpr milliseconds longest = std::chrono::hours(24 * 365);
    const auto left = std::clamp(what.time_left, milliseconds(0), longest);
    auto row = on.query(
        "INSERT INTO mortise_txn_branch"
        "(log, number, branch, state, epoch, term, overdue, participant, reply)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, " MORTISE_TXN_NOW " + ?7, ?8, ?9)",
        stored(what.gid.log),
        stored(what.gid.number),
        what.branch,
        static_cast<std::int64_t>(as),
        stored(what.epoch),
        stored(what.term),
        left.count(),
        what.participant
    );
    row.bind_bytes(answer.payload);
    row.run();
}

void update(db::connection& on, const call& what, state to, const reply& answer) {
    auto row = on.query(
        "UPDATE mortise_txn_branch SET state = ?4, epoch = ?5, reply = ?6"
        " WHERE log = ?1 AND number = ?2 AND branch = ?3",
        stored(what.gid.log),
        stored(what.gid.number),
        what.branch,
        static_cast<std::int64_t>(to),
        stored(what.epoch)
    );
    row.bind_bytes(answer.payload);
    row.run();
}

/// Notes what the call says of the ends of others.
/// @return below which number the branches of that log were forgotten
std::uint64_t note_ends(db::connection& on, const call& what) {
    // A transaction is called while it has not ended: of later ones its caller cannot know.
    const auto told = std::min(what.ended_below, what.gid.number);
    std::uint64_t ended = 0;
    std::uint64_t purged = 0;
    {
        auto row = on.query(
            "SELECT ended_below, purged_below FROM mortise_txn_seen WHERE log = ?1",
            stored(what.gid.log)
        );
        if (row.step()) {
            ended = static_cast<std::uint64_t>(row.integer(0));
            purged = static_cast<std::uint64_t>(row.integer(1));
        }
    }
    if (told >= ended + lag) {
        on.run(
            "INSERT INTO mortise_txn_seen(log, ended_below, purged_below) VALUES(?1, ?2, 0)"
            " ON CONFLICT(log) DO UPDATE SET ended_below = excluded.ended_below",
            stored(what.gid.log),
            stored(told)
        );
    }
    return purged;
}

error_code raise_fences(db::connection& on, const call& what) {
    for (const auto& each : what.locks) {
        if (const auto failed = sqlite_fence::admit(on.handle(), each.name, each.token))
            return failed;
    }
    return {};
}

}  // namespace

error_code barrier::begin(db::connection& on) {
    if (::sqlite3_get_autocommit(on.handle()) != 0)
        return mortise::errc::no_transaction;
    on.run(make_branches);
    on.run(make_overdue);
    on.run(make_seen);
    on.run("SAVEPOINT mortise_txn");
    return {};
}

void barrier::end(db::connection& on, bool keep) {
    if (!keep)
        on.run("ROLLBACK TO mortise_txn");
    on.run("RELEASE mortise_txn");
}

result<std::optional<reply>> barrier::judge(db::connection& on, const call& what) {
    const auto purged_below = note_ends(on, what);
    auto known = find(on, what);
    reply::evidence seen;
    if (known && known->term != stored(what.term))
        seen.term = static_cast<std::uint64_t>(known->term);
    else if (known && static_cast<std::uint64_t>(known->epoch) > what.epoch)
        seen.epoch = static_cast<std::uint64_t>(known->epoch);
    const bool over = !known && what.gid.number < purged_below;
    if (over && what.what == operation::cancel && what.presumed)
        seen.ended_below = purged_below;
    if (seen != reply::evidence())
        return std::optional(reply::ahead(seen));
    switch (what.what) {
    case operation::try_:
        if (over || (known && known->state == cancelled))
            return error_code(errc::late_try);
        if (known)
            return std::optional(std::move(known->answer));
        if (const auto failed = raise_fences(on, what))
            return failed;
        insert(on, what, tried, reply());
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
        if (!known && !over && !MORTISE_PLANTED_NAME("no_tombstone"))
            insert(on, what, cancelled, reply());
        if (!known || known->state == refused)
            return std::optional(reply());
        break;
    }
    return std::optional<reply>();
}

void barrier::remember(db::connection& on, const call& what, const reply& answer) {
    if (answer.what == reply::verdict::done) {
        const auto to = what.what == operation::try_      ? tried
                        : what.what == operation::confirm ? confirmed
                                                          : cancelled;
        if (to != tried || !answer.payload.empty())
            update(on, what, to, answer);
    } else if (answer.what == reply::verdict::refused && what.what == operation::try_) {
        insert(on, what, refused, answer);
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

// As the coordinator would cancel it that has tried it.
result<call> barrier::own_cancel(db::connection& on, const overdue_branch& which) {
    on.run(make_branches);
    call made;
    made.what = operation::cancel;
    made.gid = which.gid;
    made.branch = which.branch;
    made.participant = which.participant;
    const auto known = find(on, made);
    if (!known)
        return error_code(errc::unknown_branch);
    made.epoch = static_cast<std::uint64_t>(known->epoch);
    made.term = static_cast<std::uint64_t>(known->term);
    return made;
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

// The border is raised before the rows go: a try of what is forgotten is refused from here on.
std::size_t barrier::purge(db::connection& on, std::size_t limit) {
    on.run(make_branches);
    on.run(make_seen);
    on.run("UPDATE mortise_txn_seen SET purged_below = ended_below");
    on.run(
        "DELETE FROM mortise_txn_branch WHERE state <> 1 AND (log, number, branch) IN ("
        "SELECT b.log, b.number, b.branch FROM mortise_txn_seen AS s"
        " CROSS JOIN mortise_txn_branch AS b ON b.log = s.log AND b.number < s.ended_below"
        " WHERE b.state <> 1 LIMIT ?1)",
        limit
    );
    return static_cast<std::size_t>(on.changes());
}

}  // namespace mortise::txn
