// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_crew.hpp"
#include "bench/bench_worker.hpp"
#include "bench/measure.hpp"
#include "bench/run_control.hpp"
#include "bench/server_meter.hpp"
#include "bench/server_share.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/with_store.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/with_code.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace mortise::tool {

asio::awaitable<void> acquire_again_and_again(bench_work work) {
    constexpr std::chrono::milliseconds rest(5);
    lock_options options;
    options.linger = std::chrono::minutes(1);
    const std::string name = work.settings.lock;
    while (work.shared.stop.load(std::memory_order_relaxed) == 0) {
        auto acquired = co_await work.locks.async_acquire(name, options, coro::detail::with_code);
        auto& [code, held] = acquired;
        if (code)
            throw failure::of_code(code, name, work.locks.explain());
        auto released = co_await held.async_release(coro::detail::with_code);
        auto& [unreleased] = released;
        if (unreleased)
            throw failure::of_code(unreleased, "while releasing", work.locks.explain());
        work.shared.handoffs.fetch_add(1, std::memory_order_relaxed);
        if (work.shared.rest.load(std::memory_order_relaxed) != 0)
            co_await pause_for(rest);
    }
}

std::string echo_channel_from(const std::string& lock) {
    return lock + ":echo:from";
}

std::string echo_channel_to(const std::string& lock) {
    return lock + ":echo:to";
}

void echo_messages(const bench_work& work, const std::string& store) {
    const auto meter = server_meter::of(store);
    if (!meter)
        return;
    meter->subscribe(echo_channel_to(work.settings.lock));
    work.shared.echoing.store(1);
    meter->echo_back(echo_channel_from(work.settings.lock));
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds linger_warm_up{300};
constexpr milliseconds linger_end_max{30'000};
constexpr milliseconds between{20};  // enough for the other process to get the lock again
constexpr int asks = 50;

double microseconds_since(clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

/// How long it takes to get the lock from the other process, and what messages take.
struct waits {
    std::vector<double> asked;   ///< Microseconds that a request took,
    std::vector<double> tried;   ///< that tries took, one after the other, until one succeeded,
    std::vector<double> pinged;  ///< that a bare exchange took after the same rest,
    std::vector<double> echoed;  ///< and that a message took to that process and back.
};

asio::awaitable<void> try_until_it_is_ours(lock_client& locks, std::string name) {
    for (;;) {
        std::optional<lease> held = co_await locks.async_try_acquire(name);
        if (held) {
            co_await release_for_bench(locks, *held);
            co_return;
        }
        interruption::check();
    }
}

asio::awaitable<int> ask_and_try(lock_client& locks, server_meter* meter, waits& found) {
    const std::string name = bench_lock_name();
    for (int i = 0; i <= asks; ++i) {
        const clock::time_point begin = clock::now();
        lease held = co_await acquire_for_bench(locks, name);
        const double took = microseconds_since(begin);
        co_await release_for_bench(locks, held);
        if (i > 0)  // the first one also opens the session
            found.asked.push_back(took);
        co_await pause_for(between);
    }
    for (int i = 0; meter && i < asks; ++i) {
        found.pinged.push_back(1e6 / meter->exchanges_per_s(milliseconds(0)));
        co_await pause_for(between);
    }
    for (int i = 0; i < asks; ++i) {
        const clock::time_point begin = clock::now();
        co_await try_until_it_is_ours(locks, name);
        found.tried.push_back(microseconds_since(begin));
        co_await pause_for(between);
    }
    co_return exit_code::success;
}

/// Call it when the process only echoes, or soon will.
void echo_at_rest(
    bench_crew& crew, const bench_board::counters& shared, server_meter& meter, waits& found
) {
    const clock::time_point end = clock::now() + linger_end_max;
    while (shared.echoing.load() == 0 && clock::now() < end) {
        if (crew.wait_end(between))
            return crew.check();
    }
    const std::string name = bench_lock_name();
    meter.subscribe(echo_channel_from(name));
    for (int i = 0; i < asks; ++i) {
        const clock::time_point begin = clock::now();
        meter.echo_once(echo_channel_to(name));
        found.echoed.push_back(microseconds_since(begin));
        if (crew.wait_end(between))
            return crew.check();
    }
    meter.end_echo(echo_channel_to(name));
}

waits take_it_away(const std::string& store, server_meter* meter) {
    waits found;
    client_config config;
    config.label = "bench";
    global_settings global;
    global.store = store;
    const store_work work = [&](lock_client& locks) { return ask_and_try(locks, meter, found); };
    with_store(global, config, work);
    return found;
}

}  // namespace

bench_report measure_linger(const std::string& store, const bench_settings& settings) {
    bench_settings one = settings;
    one.processes = 1;
    const bench_board board = bench_board::create(0);
    bench_board::counters& shared = board.shared();
    bench_crew crew(store, one, board);
    server_share share;
    share.connect(store);
    crew.begin();
    crew.run_for(linger_warm_up);
    progress shown("bench linger, seconds");
    share.begin(true);
    const std::uint64_t first = shared.handoffs.load();
    const clock::time_point begin = clock::now();
    for (unsigned second = 0; second < settings.seconds; ++second) {
        shown.show(second, settings.seconds);
        crew.run_for(milliseconds(1'000));
    }
    const std::uint64_t last = shared.handoffs.load();
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    share.end(true);
    shared.rest.store(1);  // from here on the lock lingers most of the time
    crew.run_for(between);
    waits found = take_it_away(store, share.meter());
    shared.stop.store(1);
    if (share.meter())
        echo_at_rest(crew, shared, *share.meter(), found);
    if (!crew.wait_end(linger_end_max))
        throw failure(exit_code::unavailable, "the process of the measurement does not end");
    crew.check();

    const double asked = quantile(found.asked, 0.5);
    const double tried = quantile(found.tried, 0.5);
    bench_report report;
    report.add(
        "acquires_per_s",
        static_cast<double>(last - first) / seconds,
        1,
        "by the process that had the lock before, and nobody else wants it"
    );
    if (const auto total = share.total(); total && total->commands)
        report.add(
            "commands_per_s",
            static_cast<double>(*total->commands) / seconds,
            2,
            "that the server counts meanwhile, with heartbeats"
        );
    report.add("ask_us", asked, 1, "until another process that waits has it, median");
    report.add("try_us", tried, 1, "until a try of another process succeeds, median");
    if (share.meter()) {
        share.meter()->clean_up();
        const double ping = quantile(found.pinged, 0.5);
        const double echo = quantile(found.echoed, 0.5);
        report.add("ping_us", ping, 1, "a bare exchange after the same rest, median");
        report.add("ask_pings", asked / ping, 2, "the same in such exchanges");
        report.add("try_pings", tried / ping, 2, "the same in such exchanges");
        report.add("echo_us", echo, 1, "a bare message to that process and one back, likewise");
        report.add("ask_round_trips", asked / echo, 2, "the same in such messages");
        report.add("try_round_trips", tried / echo, 2, "the same in such messages");
    }
    return report;
}

}  // namespace mortise::tool
