// SPDX-License-Identifier: BSL-1.0
#include "db/writer.hpp"

#include "db/open_database.hpp"
#include "db/session_state.hpp"
#include "mortise/db/sqlite_error.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace mortise::db::detail {
namespace {

constexpr const char* begin_closure = "SAVEPOINT mortise_closure";
constexpr const char* undo_closure = "ROLLBACK TO mortise_closure";
constexpr const char* keep_closure = "RELEASE mortise_closure";

error_code meaning_of(int code) noexcept {
    if ((code & 0xff) == SQLITE_BUSY)
        return errc::database_busy;
    return sqlite_error(code);
}

bool leaves_foreign_keys_open(sqlite3* db) noexcept {
    int open = 0;
    int unused = 0;
    const int code = ::sqlite3_db_status(db, SQLITE_DBSTATUS_DEFERRED_FKS, &open, &unused, 0);
    return code == SQLITE_OK && open != 0;
}

}  // namespace

writer::writer(
    std::shared_ptr<session_state> state,
    const sqlite_config& config,
    std::shared_ptr<coro::detail::batch_worker> checkpoint_thread
)
    : state_(std::move(state)), wait_(*state_, config.busy_max) {
    open_database(db_, wait_, config, database_use::write);
    connection_.emplace(db_.handle(), config.statements_max);
    guard_.install(db_.handle());
    checkpoints_ = std::make_shared<checkpointer>(state_, config, std::move(checkpoint_thread));
}

writer::~writer() {
    close();
}

void writer::close() noexcept {
    checkpoints_.reset();
    connection_.reset();
    // Let the last connection checkpoint as it closes: alone with the database that is safe. After
    // a failure nothing may be touched.
    if (db_.is_open() && !state_->poisoned)
        ::sqlite3_db_config(db_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
    db_.close();
}

session_job& writer::job_of(const std::shared_ptr<coro::detail::worker_job>& job) noexcept {
    return static_cast<session_job&>(*job);
}

void writer::fail_all(jobs failed, error_code why) noexcept {
    for (const auto& each : failed) {
        if (!job_of(each).code())
            job_of(each).fail(why);
    }
}

void writer::run(jobs batch) noexcept {
    checkpoints_->before_batch();
    while (!batch.empty())
        batch = run_transaction(batch);
    checkpoints_->after_batch();
}

// Returns the jobs that are left for the next transaction.
writer::jobs writer::run_transaction(jobs wanted) noexcept {
    if (state_->poisoned) {
        fail_all(wanted, errc::poisoned);
        return {};
    }
    const bool forced = std::any_of(wanted.begin(), wanted.end(), [](const auto& each) {
        return job_of(each).how() == durability::force;
    });
    if (const error_code refused = begin(forced)) {
        fail_all(wanted, refused);
        return {};
    }
    connection_->forget_calls();  // of an earlier transaction that was lost
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (run_closure(job_of(wanted[i])) == after::transaction_gone) {
            lose_transaction(wanted.first(i + 1));
            return wanted.subspan(i + 1);
        }
    }
    commit(wanted, forced);
    return {};
}

error_code writer::begin(bool forced) noexcept {
    if (synchronous_full_ != forced) {
        synchronous_full_.reset();  // if the setting fails, the next transaction makes it again
        if (const int code = set_synchronous(db_, forced); code != SQLITE_OK)
            return meaning_of(code);
        synchronous_full_ = forced;
    }
    const int code = step("BEGIN IMMEDIATE");
    return code == SQLITE_OK ? error_code() : meaning_of(code);
}

writer::after writer::run_closure(session_job& job) noexcept {
    int code = step(begin_closure);
    if (code != SQLITE_OK) {
        job.fail(meaning_of(code));
        return db_.in_transaction() ? after::go_on : after::transaction_gone;
    }
    const std::size_t calls = connection_->calls();
    job.lend(*connection_);
    guard_.enter();
    job.run();
    guard_.leave();
    connection_->reset_statements();
    judge(job);
    if (job.code())
        connection_->forget_calls(calls);
    state_->rolled_back += job.code() ? 1 : 0;
    if (!db_.in_transaction())
        return after::transaction_gone;
    if (job.code())
        code = step(undo_closure);
    if (code == SQLITE_OK)
        code = step(keep_closure);
    return code == SQLITE_OK ? after::go_on : after::transaction_gone;
}

// Fails a job whose closure broke a rule without reporting an error.
void writer::judge(session_job& job) noexcept {
    if (guard_.tried())
        job.fail(errc::transaction_control);
    else if (!job.code() && leaves_foreign_keys_open(db_.handle()))
        job.fail(sqlite_error(SQLITE_CONSTRAINT_FOREIGNKEY));
}

// Handles a transaction that ended inside a closure, or that lost its savepoint. SQLite rolls back
// the whole transaction for want of space or memory, after an I/O error, and for ON CONFLICT
// ROLLBACK. If our guard is still the commit hook, nothing was committed; if a closure replaced it,
// anything may have been.
void writer::lose_transaction(jobs victims) noexcept {
    const bool guarded = guard_.in_charge(db_.handle());
    db_.roll_back();
    if (guarded && !db_.in_transaction()) {
        for (const auto& each : victims)
            state_->rolled_back += job_of(each).code() ? 0 : 1;
        return fail_all(victims, errc::rolled_back);
    }
    state_->poisoned = true;
    fail_all(victims, errc::commit_unknown);
}

void writer::commit(jobs done, bool forced) noexcept {
    const auto logged = db_.logged();
    int code = step("COMMIT");
    if (code == SQLITE_OK) {
        log_unsynced_ = log_unsynced_ || (!forced && db_.logged() != logged);
        if (forced && db_.logged() != logged)
            log_unsynced_ = false;  // one fsync for all that is in the log
        else if (forced && log_unsynced_)
            code = sync_log();
    }
    if ((code & 0xff) == SQLITE_BUSY) {
        db_.roll_back();
        return fail_all(done, errc::database_busy);
    }
    // A checkpoint that failed meanwhile may have received the disk error that concerns this
    // commit.
    if (code != SQLITE_OK || state_->poisoned) {
        state_->poisoned = true;
        db_.roll_back();
        return fail_all(done, errc::commit_unknown);
    }
    count(done, forced);
    connection_->make_calls();
    checkpoints_->after_commit(db_.log_bytes());
}

void writer::count(jobs done, bool forced) noexcept {
    std::size_t kept = 0;
    for (const auto& each : done) {
        if (job_of(each).code())
            continue;
        ++kept;
        state_->forced += job_of(each).how() == durability::force ? 1 : 0;
    }
    state_->transactions += kept;
    state_->batches += 1;
    state_->batches_forced += forced ? 1 : 0;
    if (kept > state_->batch_largest)
        state_->batch_largest = kept;
    state_->log_bytes = db_.log_bytes();
}

// Forces the log to the disk for forced work that wrote nothing itself: it may have read rows that
// lazy work wrote. Only a commit that writes is followed by an fsync, so this writes `user_version`
// with the value that it has.
int writer::sync_log() noexcept {
    int code = step("BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    int version = 0;
    const auto keep = [](void* target, int, char** columns, char**) noexcept {
        *static_cast<int*>(target) = columns[0] ? std::atoi(columns[0]) : 0;
        return 0;
    };
    code = ::sqlite3_exec(db_.handle(), "PRAGMA user_version", keep, &version, nullptr);
    if (code == SQLITE_OK)
        code = execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
    if (code == SQLITE_OK)
        code = step("COMMIT");
    log_unsynced_ = code != SQLITE_OK;
    return code;
}

int writer::step(const char* sql) noexcept {
    if (db_.step(sql))
        return SQLITE_OK;
    const int code = db_.code();
    db_.forgive();
    return code;
}

int writer::execute(const char* sql) noexcept {
    return ::sqlite3_exec(db_.handle(), sql, nullptr, nullptr, nullptr);
}

}  // namespace mortise::db::detail
