// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/server_share.hpp"
#include "common/await_main.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/io_context.hpp>

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;
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

/// Bare transactions per second on a new SQLite file in `folder`, which is removed afterwards. An
/// acquire and a release of one lock need two of them.
double bare_transactions_per_s(const fs::path& folder, unsigned seconds) {
    const passing_file file(folder / ("mortise-bench-" + std::to_string(::getpid()) + ".db"));
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(file.path().c_str(), &opened);
    const database db(opened);
    require(db.get(), code == SQLITE_OK);
    require(db.get(), ::sqlite3_exec(db.get(), schema, nullptr, nullptr, nullptr) == SQLITE_OK);
    std::array<statement, transaction_pair.size()> statements;
    for (std::size_t i = 0; i < statements.size(); ++i) {
        sqlite3_stmt* prepared = nullptr;
        require(
            db.get(),
            ::sqlite3_prepare_v2(db.get(), transaction_pair[i], -1, &prepared, nullptr) == SQLITE_OK
        );
        statements[i].reset(prepared);
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

constexpr std::uint64_t warm_up_cycles = 50;

/// How often the lock was acquired and released, and in what time.
struct cycles {
    std::uint64_t count = 0;
    clock::duration took{};

    double per_s() const noexcept {
        return static_cast<double>(count) / std::chrono::duration<double>(took).count();
    }
};

/// The findings of the measurement.
struct uncontended_findings {
    cycles locks;
    double exchanges_per_s = 0;
    std::uint64_t heartbeats = 0;
};

/// Acquires and releases again and again.
asio::awaitable<void> cycle(lock_client& locks, std::string name, milliseconds span, cycles& sum) {
    const clock::time_point begin = clock::now();
    clock::duration passed{};
    while (passed < span) {
        lease held = co_await acquire_for_bench(locks, name);
        co_await release_for_bench(locks, held);
        ++sum.count;
        interruption::check();
        passed = clock::now() - begin;
    }
    sum.took += passed;
}

asio::awaitable<void> warm_up(lock_client& locks, std::string name) {
    const clock::time_point begin = clock::now();
    lease first = co_await acquire_for_bench(locks, name);
    explain_slow_start(locks, clock::now() - begin);
    co_await release_for_bench(locks, first);
    for (std::uint64_t i = 0; i < warm_up_cycles; ++i) {
        lease held = co_await acquire_for_bench(locks, name);
        co_await release_for_bench(locks, held);
    }
}

std::uint64_t heartbeats_of(const lock_client& locks) {
    const client_stats stats = locks.stats();
    return stats.heartbeats + stats.heartbeats_failed;
}

// Takes turns: a slow phase of the machine then slows the locks and their limit alike. Each turn is
// short enough to keep the client waiting.
asio::awaitable<void> measure(
    lock_client& locks,
    std::string store,
    server_share& share,
    const bench_settings& settings,
    uncontended_findings& found
) {
    const std::string name = bench_lock_name();
    co_await warm_up(locks, name);
    share.connect(store);
    const unsigned turns = std::max(4u, settings.seconds);
    const auto span = milliseconds(settings.seconds * 1'000) / turns;
    progress shown("bench uncontended, turns");
    for (unsigned turn = 0; turn < turns; ++turn) {
        shown.show(turn, turns);
        if (share.meter())
            found.exchanges_per_s += share.meter()->exchanges_per_s(span) / turns;
        share.begin(true);
        const std::uint64_t before = heartbeats_of(locks);
        co_await cycle(locks, name, span, found.locks);
        found.heartbeats += heartbeats_of(locks) - before;
        share.end(true);
    }
}

asio::awaitable<int>
run(lock_client& locks,
    std::string store,
    server_share& share,
    const bench_settings& settings,
    uncontended_findings& found) {
    std::exception_ptr failed;
    try {
        co_await measure(locks, store, share, settings, found);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks.async_stop(coro::detail::with_code);
    if (failed)
        std::rethrow_exception(failed);
    co_return exit_code::success;
}

}  // namespace

bench_report measure_uncontended(const std::string& store, const bench_settings& settings) {
    server_share share;
    uncontended_findings found;
    {
        asio::io_context context(1);
        client_config config;
        config.label = "bench";
        lock_client locks(context.get_executor(), open_store(store), config);
        await_main(context, run(locks, store, share, settings, found));
    }
    std::optional<double> limit;  // there is none for other kinds of store
    std::string limit_meaning = "bare pairs of the transactions that this needs";
    if (share.meter()) {
        limit = found.exchanges_per_s / 2;
        limit_meaning = "pairs of " + std::string(share.meter()->exchange());
        share.meter()->clean_up();
    } else if (const auto path = sqlite_path(store)) {
        limit = bare_transactions_per_s(path->parent_path(), settings.seconds) / 2;
    }
    const double rate = found.locks.per_s();
    bench_report report;
    report.add("cycles_per_s", rate, 1, "acquire and release, one after the other, one process");
    report.add("limit_per_s", limit, 1, limit_meaning);
    report.add("ratio", limit ? std::optional(rate / *limit) : std::nullopt, 3, "of the two");
    share.report(report, found.locks.count, found.heartbeats);
    return report;
}

}  // namespace mortise::tool
