// SPDX-License-Identifier: BSL-1.0
#include "bench/relay_site.hpp"

#include "common/exit_code.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/outbox/append.hpp"
#include "outbox/kafka_target.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace mortise::tool {
namespace {

outbox::relay_config config_for(const relay_bench& at, const std::filesystem::path& database) {
    kafka_settings target;
    target.servers = at.servers;
    target.progress_topic = at.progress();
    target.id_prefix = at.name;
    outbox::relay_config config;
    config.database = database;
    config.sink = kafka_target(target);
    config.purge_after = std::chrono::hours(24);  // measured separately, when the relay stops
    config.purge_rows = 10'000'000;
    return config;
}

db::sqlite_config shop_at(const std::filesystem::path& database) {
    db::sqlite_config config;
    config.path = database;
    return config;
}

}  // namespace

relay_site::relay_site(
    const asio::any_io_executor& executor,
    const relay_bench& at,
    const std::filesystem::path& database
)
    : records_(at.topic(), at.size),
      shop_(executor, shop_at(database)),
      config_(config_for(at, database)),
      relay_(executor, config_) {}

asio::awaitable<void> relay_site::append(std::uint64_t rows) {
    auto work = [this, first = appended_, rows](db::connection& on) {
        for (std::uint64_t number = first; number < first + rows; ++number)
            outbox::append(
                on,
                outbox::message(
                    records_.topic(), bench_records::key(number), records_.payload(number)
                )
            );
    };
    appended_ += rows;
    auto appending = shop_.async_run(work, db::durability::force);
    co_await std::move(appending);
}

// Commits until the log is short: a commit starts a copying pass if the log is long, and a later
// commit restarts the log.
asio::awaitable<void> relay_site::settle() {
    constexpr std::chrono::milliseconds pause(2);
    const auto time = coro::make_boot_time_source(shop_.get_executor());
    const auto write = [](db::connection& on) {
        on.run("CREATE TABLE IF NOT EXISTS settled(times INTEGER NOT NULL)");
        on.run("INSERT INTO settled VALUES(1)");
    };
    for (;;) {
        auto writing = shop_.async_run(write, db::durability::lazy);
        co_await std::move(writing);
        if (shop_.stats().log_bytes < db::sqlite_config().checkpoint_bytes)
            co_return;
        auto sleeping = coro::sleep_for(*time, pause);
        co_await std::move(sleeping);
    }
}

asio::awaitable<int> relay_site::run(asio::awaitable<void> work) {
    std::exception_ptr failed;
    try {
        co_await std::move(work);
    } catch (...) {
        failed = std::current_exception();
    }
    const auto begin = clock::now();
    auto stopping = stop();
    co_await std::move(stopping);
    stop_took_ = clock::now() - begin;
    if (failed)
        std::rethrow_exception(failed);
    co_return exit_code::success;
}

asio::awaitable<void> relay_site::stop() {
    auto stopping = relay_.async_stop();
    co_await std::move(stopping);
    auto closing = shop_.async_stop();
    co_await std::move(closing);
}

relay_site::sum relay_site::sums() const {
    sum all;
    for (const auto& each : relay_.status()) {
        ++all.shards;
        all.messages += each.messages;
        all.batches += each.batches;
        all.writes += each.writes;
        all.purges += each.purges;
        all.purged += each.purged;
    }
    return all;
}

}  // namespace mortise::tool
