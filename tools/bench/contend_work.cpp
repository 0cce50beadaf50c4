// SPDX-License-Identifier: BSL-1.0
#include "bench/work.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/coro/task_scope.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>

namespace mortise::tool {
namespace {

std::int64_t now_ns() {
    return clock::now().time_since_epoch().count();
}

asio::awaitable<void> rest(std::chrono::milliseconds time) {
    if (time.count() == 0)
        co_return;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    co_await timer.async_wait(asio::deferred);
}

/// One worker: acquires, holds and rests until every record is claimed.
asio::awaitable<void> one_worker(const bench_work& work, std::uint32_t worker) {
    const bench_settings& bench = work.settings.bench;
    for (;;) {
        const std::int64_t asked = now_ns();
        lease held = co_await acquire_for_bench(work.locks, work.settings.lock);
        const std::int64_t granted = now_ns();
        const std::uint64_t index = work.shared.claimed.fetch_add(1);
        if (index >= work.records.size()) {
            co_await release_for_bench(work.locks, held);
            co_return;
        }
        co_await rest(bench.hold);
        contend_record& record = work.records[index];
        record.asked = asked;
        record.granted = granted;
        record.token = held.token().value;
        record.worker = worker;
        record.complete = 1;
        record.released = now_ns();  // the last step: until here the holder believes in its lease
        co_await release_for_bench(work.locks, held);
        co_await rest(bench.think);
    }
}

}  // namespace

asio::awaitable<void> contend_for_lock(bench_work work) {
    const auto executor = co_await asio::this_coro::executor;
    coro::task_scope workers(executor);
    const std::uint32_t tasks = work.settings.bench.tasks;
    for (std::uint32_t task = 0; task < tasks; ++task)
        workers.spawn(one_worker(work, work.settings.index * tasks + task));
    co_await workers.join();
}

}  // namespace mortise::tool
