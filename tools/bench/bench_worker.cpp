// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_worker.hpp"

#include "bench/bench_command.hpp"
#include "common/await_main.hpp"
#include "common/default_store.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "common/signal_source.hpp"
#include "common/with_store.hpp"
#include "mortise/coro/detail/with_code.hpp"
#include "mortise/detail/unique_fd.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <array>
#include <csignal>

namespace mortise::tool {
namespace {

/// Opens the session with a lock that no other process uses, reports "ready", and returns when the
/// measurement begins.
asio::awaitable<void> get_ready(bench_work work) {
    const std::string own = work.settings.lock + ":" + std::to_string(work.settings.index);
    lease held = co_await acquire_for_bench(work.locks, own);
    co_await release_for_bench(work.locks, held);
    if (::write(work.settings.ready, "r", 1) != 1)
        throw failure::of_errno("the process that measures is gone");
    const auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor go(executor, work.settings.go);
    std::array<char, 1> nothing{};
    co_await go.async_read_some(
        asio::buffer(nothing), coro::detail::with_code
    );  // the pipe's end: start
}

/// Reports "ready" when it holds the lock, and keeps the lock until it is killed.
asio::awaitable<void> hold_to_the_end(bench_work work) {
    lease held = co_await acquire_for_bench(work.locks, work.settings.lock);
    co_await get_ready(work);
    co_await release_for_bench(work.locks, held);
}

std::uint64_t heartbeats_of(const bench_work& work) {
    const client_stats stats = work.locks.stats();
    return stats.heartbeats + stats.heartbeats_failed;
}

asio::awaitable<int> work_through(bench_work work) {
    const auto measurement = work.settings.bench.measurement;
    if (measurement == bench_settings::kind::takeover) {
        co_await hold_to_the_end(work);
        co_return exit_code::success;
    }
    co_await get_ready(work);
    const std::uint64_t before = heartbeats_of(work);
    if (measurement == bench_settings::kind::contend)
        co_await contend_for_lock(work);
    else if (measurement == bench_settings::kind::linger)
        co_await acquire_again_and_again(work);
    else
        co_await pass_to_and_fro(work);
    work.shared.heartbeats.fetch_add(heartbeats_of(work) - before);
    co_return exit_code::success;
}

}  // namespace

asio::awaitable<lease> acquire_for_bench(lock_client& locks, const std::string& name) {
    const lock_options for_ever;
    auto acquired = co_await locks.async_acquire(name, for_ever, coro::detail::with_code);
    auto& [code, held] = acquired;
    if (code)
        throw failure::of_code(code, name, locks.explain());
    co_return std::move(held);
}

asio::awaitable<void> release_for_bench(lock_client& locks, lease& held) {
    auto released = co_await held.async_release(coro::detail::with_code);
    auto& [code] = released;
    if (code)
        throw failure::of_code(code, "while releasing", locks.explain());
}

int bench_worker(const global_settings& global, const bench_worker_settings& settings) {
    const detail::unique_fd ready(settings.ready);
    const bench_board board = bench_board::attach(settings.board);
    if (settings.bench.measurement == bench_settings::kind::handoff)
        keep_to_one_processor(settings.index);  // before any thread is started
    asio::io_context context(1);
    signal_source signals(context.get_executor());  // before the client, which starts threads
    client_config config;
    config.label = "bench";
    config.local_handoff = settings.bench.local_handoff;
    if (settings.bench.measurement == bench_settings::kind::takeover)
        config.ttl = settings.bench.ttl;
    if (settings.bench.measurement == bench_settings::kind::handoff)
        config.turn_handoffs_max = 0;  // each release must go to the other process
    lock_client locks(context.get_executor(), open_store(global.store), config);
    const bench_work work{locks, settings, board.shared(), board.records()};
    const store_work until_told = [&](lock_client&) {
        return until_signalled(signals, work_through(work), {});
    };
    const int code = await_main(context, work_and_stop(locks, until_told));
    const bool lingers = settings.bench.measurement == bench_settings::kind::linger;
    if (code != exit_code::success || (settings.peer < 0 && !lingers))
        return code;
    // The process holds nothing from here on, and no wait remains that a signal could end.
    ::pthread_sigmask(SIG_SETMASK, &signals.mask_before(), nullptr);
    if (lingers)
        echo_messages(work, global.store);
    else if (sqlite_path(global.store))
        ping_to_and_fro(work);
    else
        publish_to_and_fro(work, global.store);
    return code;
}

std::string bench_lock_name() {
    constexpr std::size_t digits = 11;
    const std::string number = std::to_string(::getpid());
    return "bench-" + std::string(digits - number.size(), '0') + number;
}

}  // namespace mortise::tool
