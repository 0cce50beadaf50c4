// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/server_share.hpp"
#include "common/await_main.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/coro/mutex.hpp"
#include "mortise/coro/task_scope.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::tool {
namespace {

constexpr std::uint64_t look_every = 1'024;

/// Counts hand-offs until the time is over. Reads the clock only now and then.
class stopwatch {
public:
    explicit stopwatch(clock::duration span) noexcept : end_(clock::now() + span) {}

    bool count() {
        if (++count_ % look_every == 0) {
            interruption::check();
            over_ = clock::now() >= end_;
        }
        return !over_;
    }

    double per_s() const noexcept {
        const auto passed = clock::now() - begin_;
        return static_cast<double>(count_) / std::chrono::duration<double>(passed).count();
    }

private:
    const clock::time_point begin_ = clock::now();
    const clock::time_point end_;
    std::uint64_t count_ = 0;
    bool over_ = false;
};

asio::awaitable<void> pass_mutex(coro::mutex& mutex, stopwatch& watch) {
    bool more = true;
    while (more) {
        const auto guard = co_await mutex.async_lock();
        more = watch.count();
    }
}

asio::awaitable<void> pass_lock(lock_client& locks, stopwatch& watch) {
    bool more = true;
    while (more) {
        const lease held = co_await locks.async_acquire("mortise-bench-local");
        more = watch.count();
    }
}

/// How often per second the lock passes on among `tasks` coroutines, each on its own strand.
template <class Pass>
asio::awaitable<double>
rate(asio::io_context& context, unsigned tasks, std::chrono::milliseconds span, Pass pass) {
    stopwatch watch(span);
    std::vector<std::unique_ptr<coro::task_scope>> scopes;
    for (unsigned i = 0; i < tasks; ++i) {
        scopes.push_back(std::make_unique<coro::task_scope>(asio::make_strand(context)));
        scopes.back()->spawn(pass(watch));
    }
    for (auto& each : scopes)
        co_await each->join();
    co_return watch.per_s();
}

struct rates {
    double locks = 0;
    double limit = 0;
    std::optional<double> commands;  ///< Per second, by the server's counters.
};

// Takes turns: a slow phase of the machine then slows both.
asio::awaitable<int> measure(
    asio::io_context& context,
    lock_client& locks,
    std::string store,
    server_share& share,
    const bench_settings& settings,
    rates& found
) {
    coro::mutex mutex(context.get_executor());
    const auto with_mutex = [&](stopwatch& watch) { return pass_mutex(mutex, watch); };
    const auto with_lock = [&](stopwatch& watch) { return pass_lock(locks, watch); };
    constexpr std::chrono::milliseconds first_phase(100);
    constexpr unsigned turns = 4;
    const auto span = std::chrono::milliseconds(settings.seconds * 1'000) / turns;
    progress shown("bench local, turns");
    std::exception_ptr failed;
    try {
        co_await rate(context, settings.tasks, first_phase, with_lock);
        share.connect(store);
        for (unsigned i = 0; i < turns; ++i) {
            shown.show(i, turns);
            found.limit += co_await rate(context, settings.tasks, span, with_mutex) / turns;
            share.begin(true);
            found.locks += co_await rate(context, settings.tasks, span, with_lock) / turns;
            share.end(true);
        }
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks.async_stop(coro::detail::with_code);
    if (failed)
        std::rethrow_exception(failed);
    co_return exit_code::success;
}

rates measure_at(const std::string& store, const bench_settings& settings) {
    asio::io_context context(1);
    client_config config;
    config.label = "bench";
    lock_client locks(context.get_executor(), open_store(store), config);
    server_share share;
    rates found;
    await_main(context, measure(context, locks, store, share, settings, found));
    if (const auto total = share.total(); total && total->commands)
        found.commands = static_cast<double>(*total->commands) / settings.seconds;
    return found;
}

}  // namespace

bench_report measure_local(const std::string& store, const bench_settings& settings) {
    const rates found = measure_at(store.empty() ? "memory:" : store, settings);
    bench_report report;
    report.add("handoffs_per_s", found.locks, 1, "a lock passed on among coroutines");
    report.add("limit_per_s", found.limit, 1, "a bare mutex of coroutines, likewise");
    report.add("ratio", found.locks / found.limit, 3, "of the two");
    if (found.commands)
        report.add("commands_per_s", found.commands, 2, "that the server counts meanwhile");
    if (store.empty()) {
        const scratch_folder folder;
        const rates embedded = measure_at(sqlite_url(folder.path() / "locks.db"), settings);
        report.add("sqlite_per_s", embedded.locks, 1, "the same at an SQLite store");
        report.add("sqlite_ratio", embedded.locks / found.locks, 3, "to the memory store");
    }
    return report;
}

}  // namespace mortise::tool
