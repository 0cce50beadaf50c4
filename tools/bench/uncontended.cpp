// SPDX-License-Identifier: BSL-1.0
#include "await_main.hpp"
#include "bench/interruption.hpp"
#include "bench/measure.hpp"
#include "bench/progress.hpp"
#include "bench/work.hpp"
#include "default_store.hpp"
#include "exit_code.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <chrono>
#include <exception>
#include <optional>

namespace mortise::tool {
namespace {

constexpr std::uint64_t warm_up_cycles = 50;

/// Acquire and release, again and again. @return how often a second.
asio::awaitable<double> cycle(lock_client& locks, unsigned seconds) {
    const std::string name = "mortise-bench-" + std::to_string(::getpid());
    for (std::uint64_t i = 0; i < warm_up_cycles; ++i) {
        lease held = co_await acquire_for_bench(locks, name);
        co_await release_for_bench(locks, held);
    }
    progress shown("bench uncontended, seconds");
    std::uint64_t cycles = 0;
    std::uint64_t shown_second = seconds;
    const clock::time_point begin = clock::now();
    clock::duration passed{};
    while (passed < std::chrono::seconds(seconds)) {
        lease held = co_await acquire_for_bench(locks, name);
        co_await release_for_bench(locks, held);
        ++cycles;
        interruption::check();
        passed = clock::now() - begin;
        const auto second = static_cast<std::uint64_t>(passed / std::chrono::seconds(1));
        if (second != shown_second)
            shown.show(shown_second = second, seconds);
    }
    co_return static_cast<double>(cycles) / std::chrono::duration<double>(passed).count();
}

asio::awaitable<int> run(lock_client& locks, unsigned seconds, double& rate) {
    std::exception_ptr failed;
    try {
        rate = co_await cycle(locks, seconds);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await locks.async_stop(asio::as_tuple(asio::deferred));
    if (failed)
        std::rethrow_exception(failed);
    co_return exit_code::success;
}

}  // namespace

bench_report measure_uncontended(const std::string& store, const bench_settings& settings) {
    double rate = 0;
    {
        asio::io_context context(1);
        client_config config;
        config.label = "bench";
        lock_client locks(context.get_executor(), open_store(store), config);
        await_main(context, run(locks, settings.seconds, rate));
    }
    std::optional<double> limit;  // there is none to measure for a store of another kind
    if (const auto path = sqlite_path(store))
        limit = bare_transactions_per_s(path->parent_path(), settings.seconds) / 2;
    bench_report report;
    report.add("cycles_per_s", rate, 1, "acquire and release, one after the other, one process");
    report.add("limit_per_s", limit, 1, "bare pairs of the transactions that this needs");
    report.add("ratio", limit ? std::optional(rate / *limit) : std::nullopt, 3, "of the two");
    return report;
}

}  // namespace mortise::tool
