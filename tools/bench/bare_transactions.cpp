// SPDX-License-Identifier: BSL-1.0
#include "bench/interruption.hpp"
#include "bench/measure.hpp"
#include "bench/passing_file.hpp"
#include "exit_code.hpp"
#include "failure.hpp"
#include "mortise/coro/clock.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::tool {
namespace {

namespace fs = std::filesystem;

struct closer {
    void operator()(sqlite3* db) const noexcept { ::sqlite3_close(db); }
    void operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }
};
using database = std::unique_ptr<sqlite3, closer>;
using statement = std::unique_ptr<sqlite3_stmt, closer>;

void require(sqlite3* db, bool good) {
    if (!good)
        throw failure(exit_code::unavailable, "the bare transactions fail", ::sqlite3_errmsg(db));
}

// The pragmas of the store, and a schema of the same kind.
constexpr const char* schema = R"(
pragma journal_mode = wal;
pragma synchronous = normal;
pragma wal_autocheckpoint = 0;
create table session (key integer primary key, grants integer not null);
create table entry (name blob, queued integer, ordinal integer, session integer, request integer,
    token integer, primary key (name, queued, ordinal)) without rowid;
create index entry_of_session on entry (session, request);
insert into session values (1, 0);
)";

constexpr std::array<const char*, 8> transaction_pair{
    "begin immediate",
    "insert into entry values (x'6c6f636b', 0, 1, 1, 1, 1024)",
    "update session set grants = grants + 1 where key = 1",
    "commit",
    "begin immediate",
    "delete from entry where name = x'6c6f636b' and queued = 0 and ordinal = 1",
    "update session set grants = grants - 1 where key = 1",
    "commit",
};

/// The store folds its log back by size, and so does this file: 16 MiB are 4,096 pages.
constexpr int log_pages_max = 4'096;

}  // namespace

double bare_transactions_per_s(const fs::path& folder, unsigned seconds) {
    const passing_file file(folder / ("mortise-bench-" + std::to_string(::getpid()) + ".db"));
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(file.path().c_str(), &opened);
    const database db(opened);
    require(db.get(), code == SQLITE_OK);
    require(db.get(), ::sqlite3_exec(db.get(), schema, nullptr, nullptr, nullptr) == SQLITE_OK);
    std::array<statement, transaction_pair.size()> statements;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        sqlite3_stmt* made = nullptr;
        require(
            db.get(),
            ::sqlite3_prepare_v2(db.get(), transaction_pair[i], -1, &made, nullptr) == SQLITE_OK
        );
        statements[i].reset(made);
    }
    int log_pages = 0;
    const auto note = [](void* pages, sqlite3*, const char*, int now) {
        *static_cast<int*>(pages) = now;
        return SQLITE_OK;
    };
    ::sqlite3_wal_hook(db.get(), note, &log_pages);
    std::uint64_t pairs = 0;
    const clock::time_point begin = clock::now();
    const clock::time_point end = begin + std::chrono::seconds(seconds);
    while (clock::now() < end) {
        for (const statement& one : statements) {
            require(db.get(), ::sqlite3_step(one.get()) == SQLITE_DONE);
            ::sqlite3_reset(one.get());
        }
        ++pairs;
        interruption::check();
        if (log_pages > log_pages_max)
            ::sqlite3_wal_checkpoint_v2(
                db.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr
            );
    }
    const std::chrono::duration<double> took = clock::now() - begin;
    return 2 * static_cast<double>(pairs) / took.count();
}

}  // namespace mortise::tool
