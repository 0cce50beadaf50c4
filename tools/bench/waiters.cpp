// SPDX-License-Identifier: BSL-1.0
#include "bench/measure.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "mortise/store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace mortise::tool {
namespace {

const std::string waited_name = "mortise-bench-waiters";

/// The bytes allocated at present.
std::uint64_t bytes_in_use() noexcept {
    return ::mallinfo2().uordblks;
}

asio::awaitable<void> wait_for_it(lock_client& locks) {
    const lease held = co_await locks.async_acquire(waited_name);
}

void wait_until(asio::io_context& context, const std::function<bool()>& done) {
    const auto end = clock::now() + std::chrono::minutes(1);
    while (!done()) {
        if (clock::now() > end)
            throw failure(exit_code::unavailable, "the waiters of the measurement do not wait");
        context.run_one_for(std::chrono::milliseconds(10));
    }
}

/// Holds the lock, lets `count` waiters queue for it, and divides the cost by their number.
double bytes_each(
    const std::string& store,
    std::uint64_t count,
    const std::function<void(asio::io_context&, lock_client&)>& wait
) {
    asio::io_context context(1);
    client_config config;
    config.label = "bench";
    config.waiters_max = count + 1;
    lock_client locks(context.get_executor(), open_store(store), config);
    lease held;
    locks.async_acquire(waited_name, lock_options(), [&](error_code code, lease got) {
        if (code)
            throw failure::of_code(code, waited_name, locks.explain());
        held = std::move(got);
    });
    wait_until(context, [&] { return held.held(); });
    const std::uint64_t before = bytes_in_use();
    for (std::uint64_t i = 0; i < count; ++i)
        wait(context, locks);
    wait_until(context, [&] { return locks.stats().waiting == count; });
    const std::uint64_t after = bytes_in_use();
    return static_cast<double>(after - before) / static_cast<double>(count);
}

}  // namespace

bench_report measure_waiters(const std::string& store, const bench_settings& settings) {
    const std::string at = store.empty() ? "memory:" : store;
    const auto coroutine = [](asio::io_context& context, lock_client& locks) {
        asio::co_spawn(asio::make_strand(context), wait_for_it(locks), asio::detached);
    };
    const auto bare = [](asio::io_context&, lock_client& locks) {
        locks.async_acquire(waited_name, lock_options(), [](error_code, const lease&) {});
    };
    bench_report report;
    report.add(
        "bytes_per_waiter",
        bytes_each(at, settings.waiters, coroutine),
        0,
        "a coroutine that waits for a lock, with its frame and its strand"
    );
    report.add(
        "own_bytes_per_waiter",
        bytes_each(at, settings.waiters, bare),
        0,
        "of these, what waiting costs without a coroutine"
    );
    return report;
}

}  // namespace mortise::tool
