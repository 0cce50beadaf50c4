// SPDX-License-Identifier: BSL-1.0
#include "db/open_database.hpp"

#include "db/session_state.hpp"
#include "mortise/error.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/host_facts.hpp"
#include "sqlite/sqlite_db.hpp"

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::db::detail {
namespace {

using sqlite_detail::sqlite_db;

bool is_busy(const sqlite_db& db) noexcept {
    return (db.code() & 0xff) == SQLITE_BUSY;
}

[[noreturn]] void fail(const sqlite_db& db, const sqlite_config& config) {
    const errc code =
        is_busy(db) ? errc::database_busy : sqlite_detail::meaning_of(db.code(), db.system_error());
    std::string remedy =
        "see whether the file is a database that this user may write, and who else has it open";
    if (code == errc::too_many_files)
        remedy = sqlite_detail::remedy_of(code);
    throw error(code, config.path.string() + " (" + db.text() + ")", std::move(remedy));
}

// Runs a pragma, without the kept statements, because pragmas take effect when they are prepared.
// Returns the first column of its row.
std::string run_pragma(sqlite_db& db, const std::string& pragma) {
    std::string value;
    const auto keep = [](void* target, int, char** columns, char**) noexcept {
        *static_cast<std::string*>(target) = columns[0] ? columns[0] : "";
        return 0;
    };
    const int code =
        ::sqlite3_exec(db.handle(), ("PRAGMA " + pragma).c_str(), keep, &value, nullptr);
    if (code != SQLITE_OK)
        db.fail(code);
    return value;
}

// Reads a setting back, because SQLite silently ignores one that it cannot make.
void check_pragma(
    sqlite_db& db, const sqlite_config& config, const std::string& name, const std::string& expected
) {
    const std::string found = run_pragma(db, name);
    if (db.failed())
        fail(db, config);
    if (found != expected) {
        throw error(
            errc::unsupported,
            name + " of " + config.path.string() + " is " + found + " although " + expected +
                " was set",
            "use a file on a local disk, and an SQLite that was built with write-ahead logs"
        );
    }
}

void set_pragma(
    sqlite_db& db,
    const sqlite_config& config,
    const std::string& name,
    const std::string& value,
    const std::string& expected
) {
    run_pragma(db, name + " = " + value);
    check_pragma(db, config, name, expected);
}

// Changes to a write-ahead log, with a busy wait of our own. The change reads and then wants to
// write. SQLite asks no busy handler there if another connection writes already, or is at the same
// point: two of them would wait for each other.
void ask_for_log(sqlite_db& db, const busy_wait& wait) {
    busy_wait again = wait;
    for (int tries = 0;; ++tries) {
        run_pragma(db, "journal_mode = wal");
        if (!is_busy(db) || !again.once_more(tries))
            return;
        db.forgive();
    }
}

void refuse_network_file_systems(const sqlite_config& config) {
    auto folder = config.path.parent_path();
    if (folder.empty())
        folder = ".";
    const auto found = sqlite_detail::file_system_of(folder, config.file_system_type_override);
    if (found.network && !config.allow_network_file_system) {
        throw error(
            errc::network_file_system,
            config.path.string() + " is on " + found.kind,
            "use a local disk, or set allow_network_file_system if one host alone uses it"
        );
    }
}

}  // namespace

void open_database(sqlite_db& db, busy_wait& wait, const sqlite_config& config, database_use use) {
    if (use == database_use::write)
        refuse_network_file_systems(config);
    const char* const vfs = config.vfs.empty() ? nullptr : config.vfs.c_str();
    const bool opened = db.open(config.path.string(), use == database_use::read, vfs);
    if (!opened)
        fail(db, config);
    wait.install(db.handle());
    if (use == database_use::read) {
        set_pragma(db, config, "query_only", "1", "1");
        // SQLite takes a negative cache size as KiB.
        const auto cache = '-' + std::to_string(config.read_cache_bytes >> 10u);
        set_pragma(db, config, "cache_size", cache, cache);
        if (run_pragma(db, "journal_mode") != "wal" || db.failed())
            fail(db, config);
        return;
    }
    if (db.read_only()) {
        db.fail(SQLITE_READONLY);
        fail(db, config);
    }
    ask_for_log(db, wait);
    check_pragma(db, config, "journal_mode", "wal");
    set_pragma(db, config, "synchronous", "full", "2");
    const std::string page_size = run_pragma(db, "page_size");
    if (db.failed())
        fail(db, config);
    db.set_page_bytes(static_cast<std::size_t>(std::stoul(page_size)));
    if (use == database_use::checkpoint)
        return;
    set_pragma(db, config, "foreign_keys", "1", "1");
    const auto log_max = std::to_string(2 * std::uint64_t{config.checkpoint_bytes});
    set_pragma(db, config, "journal_size_limit", log_max, log_max);
}

int set_synchronous(sqlite_db& db, bool full) noexcept {
    try {
        run_pragma(db, full ? "synchronous = full" : "synchronous = normal");
        const std::string found = run_pragma(db, "synchronous");
        const int code = db.failed() ? db.code() : SQLITE_OK;
        db.forgive();
        if (code != SQLITE_OK)
            return code;
        return found == (full ? "2" : "1") ? SQLITE_OK : SQLITE_ERROR;
    } catch (...) {
        return SQLITE_NOMEM;
    }
}

}  // namespace mortise::db::detail
