// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/run_control.hpp"
#include "bench/tcc_phases.hpp"
#include "common/await_main.hpp"
#include "common/exit_code.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/error.hpp"

#include <boost/asio/io_context.hpp>

#include <utility>

namespace mortise::tool {
namespace {

constexpr std::uint64_t first_tries = 200;
constexpr std::chrono::minutes limits_end_max(1);

// The columns, indices and statements of the log. Only the check that nobody else decides is left
// out: the coordinator makes it.
void make_log(db::connection& on) {
    on.run("CREATE TABLE entry(number INTEGER PRIMARY KEY AUTOINCREMENT, part INTEGER NOT NULL,"
           " state INTEGER NOT NULL, term INTEGER NOT NULL, begun_epoch INTEGER NOT NULL,"
           " decided_epoch INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL, decided INTEGER,"
           " ended INTEGER, why INTEGER NOT NULL DEFAULT 0, text TEXT, key TEXT,"
           " plan BLOB NOT NULL, progress BLOB)");
    on.run("CREATE INDEX entry_open ON entry(number) WHERE ended IS NULL");
    on.run("CREATE UNIQUE INDEX entry_keys ON entry(key) WHERE key IS NOT NULL");
}

constexpr std::int64_t some_time = 1'800'000'000'000;
constexpr std::int64_t some_term = 0x123456789abcdef;

class beginning {
public:
    explicit beginning(const std::string& plan) : plan_(&plan) {}
    std::int64_t operator()(db::connection& on) const {
        auto row = on.query(
            "INSERT INTO entry(part, state, term, begun_epoch, begun, key, plan)"
            " VALUES(0, 1, ?1, 1, ?2, NULL, ?3)",
            some_term,
            some_time
        );
        row.bind_bytes(*plan_);
        row.run();
        return on.last_insert_id();
    }

private:
    const std::string* plan_;
};

class deciding {
public:
    explicit deciding(std::int64_t number) : number_(number) {}
    void operator()(db::connection& on) const {
        on.run(
            "UPDATE entry SET state = 2, why = 0, text = '', decided_epoch = 1, decided = ?2"
            " WHERE number = ?1 AND state = 1 AND part = 0",
            number_,
            some_time
        );
    }

private:
    std::int64_t number_;
};

class ending {
public:
    ending(std::int64_t number, const std::string& progress)
        : number_(number), progress_(&progress) {}
    void operator()(db::connection& on) const {
        auto row = on.query(
            "UPDATE entry SET ended = ?2, progress = ?3 WHERE number = ?1 AND ended IS NULL",
            number_,
            some_time
        );
        row.bind_bytes(*progress_);
        row.run();
    }

private:
    std::int64_t number_;
    const std::string* progress_;
};

/// Writes such a log without a coordinator.
class bare_log {
public:
    bare_log(asio::any_io_executor executor, const passing_file& file)
        : session_(std::move(executor), config(file)) {}

    asio::awaitable<void>
    write_all(const tcc_records& records, tcc_tally& tally, unsigned in_flight) {
        coro::task_scope scope(session_.get_executor());
        for (unsigned i = 0; i < in_flight; ++i)
            scope.spawn(write(records, tally));
        co_await scope.join();
        co_await await_so([this] { return ending_ == 0; }, limits_end_max);
    }

    db::sqlite& session() noexcept { return session_; }

private:
    static db::sqlite_config config(const passing_file& file) {
        db::sqlite_config config;
        config.path = file.path();
        config.queue_max = 1u << 20;
        return config;
    }

    asio::awaitable<void> write(const tcc_records& records, tcc_tally& tally) {
        while (tally.take()) {
            const auto begin = clock::now();
            const auto number = co_await session_.async_run(beginning(records.plan));
            co_await session_.async_run(deciding(number));
            tally.done(clock::now() - begin);
            ++ending_;
            session_.async_run(
                ending(number, records.progress),
                db::durability::lazy,
                [this](error_code) { --ending_; }
            );
        }
    }

    db::sqlite session_;
    std::uint64_t ending_ = 0;
};

}  // namespace

void bare_turn(
    const std::filesystem::path& folder,
    const tcc_amount& amount,
    const tcc_records& records,
    tcc_figures& sum
) {
    const passing_file file(bench_file(folder, "bare"));
    asio::io_context context(1);
    bare_log log(context.get_executor(), file);
    const auto run = [&]() -> asio::awaitable<int> {
        co_await log.session().async_run(&make_log);
        tcc_tally unmeasured({amount.in_flight, {}, first_tries});
        co_await log.write_all(records, unmeasured, amount.in_flight);
        const auto begin = clock::now();
        tcc_tally tally(amount);
        co_await log.write_all(records, tally, amount.in_flight);
        sum.took += clock::now() - begin;
        sum.add(tally);
        co_await log.session().async_stop();
        co_return exit_code::success;
    };
    await_main(context, run());
}

}  // namespace mortise::tool
