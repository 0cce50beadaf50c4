// SPDX-License-Identifier: BSL-1.0
#include "await_main.hpp"
#include "bench/arrivals.hpp"
#include "bench/bare_producer.hpp"
#include "bench/interruption.hpp"
#include "bench/passing_file.hpp"
#include "bench/progress.hpp"
#include "bench/relay_phases.hpp"
#include "bench/relay_site.hpp"
#include "bench/tcc_world.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::tool {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t rows_per_second = 100;
constexpr milliseconds pace(1'000 / rows_per_second);
constexpr std::uint64_t warm_up_rows = 100;
constexpr int bare_transactions = 100;
// The broker ends a transaction after it has acknowledged the end, and begins the next one only
// then. This pause keeps that work out of the measured time.
constexpr milliseconds bare_pause{50};
constexpr milliseconds last_max{30'000};

double ms_of(clock::duration span) {
    return std::chrono::duration<double, std::milli>(span).count();
}

double quantile(std::vector<double>& of, double which) {
    if (of.empty())
        return 0;
    std::sort(of.begin(), of.end());
    return of[static_cast<std::size_t>(which * static_cast<double>(of.size() - 1))];
}

double bare_transaction_ms(const relay_bench& at) {
    bare_producer alone(at.servers, at.name + ".one");
    const bench_records what(at.bare_topic(), at.size);
    std::vector<double> took;
    for (int i = 0; i < bare_transactions; ++i) {
        interruption::check();
        std::this_thread::sleep_for(bare_pause);
        const auto begin = clock::now();
        alone.send(what, static_cast<std::uint64_t>(i), 1);
        took.push_back(ms_of(clock::now() - begin));
    }
    took.erase(took.begin(), took.begin() + bare_transactions / 10);
    return quantile(took, 0.5);
}

/// Commits each row at its planned time, however long the previous commit took.
asio::awaitable<void> append_in_time(
    relay_site& site, std::uint64_t rows, std::map<std::uint64_t, clock::time_point>& committed
) {
    const auto time = coro::make_boot_time_source(co_await asio::this_coro::executor);
    auto next = time->now();
    for (std::uint64_t i = 0; i < rows; ++i) {
        interruption::check();
        next += pace;
        co_await coro::sleep_until(*time, next);
        const std::uint64_t number = site.appended();
        co_await site.append(1);
        committed.emplace(number, clock::now());
    }
}

}  // namespace

relay_latency measure_latency(const relay_bench& at) {
    const passing_file file(bench_file(at.folder, "latency"));
    relay_latency found;
    progress shown("bench relay, latency");
    shown.show(0, 1);
    found.bare_ms = bare_transaction_ms(at);
    asio::io_context context(1);
    relay_site site(context.get_executor(), at, file.path());
    std::map<std::uint64_t, clock::time_point> committed;
    const auto work = [&]() -> asio::awaitable<void> {
        co_await site.append(warm_up_rows);
        co_await site.relay().async_drained();
        arrivals seen(at.servers, at.topic(), at.partitions);
        std::map<std::uint64_t, clock::time_point> ignored;
        co_await append_in_time(site, warm_up_rows, ignored);
        co_await append_in_time(site, at.seconds * rows_per_second, committed);
        co_await await_so(
            [&] { return seen.count() >= ignored.size() + committed.size(); }, last_max
        );
        std::vector<double> took;
        const auto came = seen.take();
        for (const auto& [number, when] : committed) {
            const auto arrived = came.find(number);
            if (arrived == came.end())
                ++found.missing;
            else
                took.push_back(ms_of(arrived->second - when));
        }
        found.p50_ms = quantile(took, 0.5);
        found.p99_ms = quantile(took, 0.99);
        found.repeated = seen.repeated();
    };
    await_main(context, site.run(work()));
    return found;
}

}  // namespace mortise::tool
