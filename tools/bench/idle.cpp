// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/server_share.hpp"
#include "common/await_main.hpp"
#include "common/with_store.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::tool {
namespace {

/// The cost of holding, per second.
struct upkeep {
    double heartbeats = 0;
    std::optional<double> commands;
    std::optional<double> bytes;
};

asio::awaitable<void>
watch(lock_client& locks, std::string store, unsigned seconds, upkeep& found) {
    server_share share;
    share.connect(store);
    share.begin(true);
    const client_stats before = locks.stats();
    const clock::time_point begin = clock::now();
    co_await pause_for(std::chrono::seconds(seconds));
    const std::chrono::duration<double> passed = clock::now() - begin;
    const client_stats after = locks.stats();
    share.end(true);
    const auto each_second = [&](std::uint64_t count) {
        return static_cast<double>(count) / passed.count();
    };
    found.heartbeats = each_second(
        after.heartbeats + after.heartbeats_failed - before.heartbeats - before.heartbeats_failed
    );
    if (const auto total = share.total()) {
        if (total->commands)
            found.commands = each_second(*total->commands);
        if (total->bytes)
            found.bytes = each_second(*total->bytes);
    }
}

asio::awaitable<int> measure(
    lock_client& locks, std::string store, const bench_settings& settings, upkeep& one, upkeep& all
) {
    std::vector<lease> held;
    held.reserve(settings.locks);
    progress shown("bench idle, locks");
    const clock::time_point begin = clock::now();
    const std::string name = bench_lock_name();
    for (std::uint64_t i = 0; i < settings.locks; ++i) {
        lease got = co_await acquire_for_bench(locks, name + ':' + std::to_string(i));
        held.push_back(std::move(got));
        interruption::check();
        if (i % 1'000 == 0)
            shown.show(i, settings.locks);
        if (i == 0) {
            explain_slow_start(locks, clock::now() - begin);
            co_await watch(locks, store, settings.seconds, one);
        }
    }
    co_await watch(locks, store, settings.seconds, all);
    for (lease& each : held)
        co_await release_for_bench(locks, each);
    co_return 0;
}

}  // namespace

bench_report measure_idle(const std::string& store, const bench_settings& settings) {
    upkeep one;
    upkeep all;
    asio::io_context context(1);
    client_config config;
    config.label = "bench";
    lock_client locks(context.get_executor(), open_store(store), config);
    const store_work work = [&](lock_client&) { return measure(locks, store, settings, one, all); };
    await_main(context, work_and_stop(locks, work));
    bench_report report;
    report.add("locks", static_cast<double>(settings.locks), 0, "held by one process");
    report.add("heartbeats_per_s", all.heartbeats, 3, "while it holds them and does nothing");
    report.add("heartbeats_per_s_of_one", one.heartbeats, 3, "while it held only one lock");
    if (all.commands) {
        report.add("commands_per_s", all.commands, 3, "that the server counts meanwhile");
        report.add("commands_per_s_of_one", one.commands, 3, "while it held only one lock");
    }
    if (all.bytes) {
        report.add("bytes_per_s", all.bytes, 1, "sent to the server, which counts them");
    }
    return report;
}

}  // namespace mortise::tool
