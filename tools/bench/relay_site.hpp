// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_RELAY_SITE_HPP
#define MORTISE_TOOLS_BENCH_RELAY_SITE_HPP

#include "bench/relay_phases.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/db/sqlite.hpp"
#include "mortise/outbox/relay.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace mortise::tool {

/// A database with a message table, a writer that appends to it, and a relay that sends it to
/// Kafka.
class relay_site {
public:
    relay_site(
        const asio::any_io_executor& executor,
        const relay_bench& at,
        const std::filesystem::path& database
    );

    outbox::relay& relay() noexcept { return relay_; }
    std::uint64_t batch_rows() const noexcept { return config_.batch_rows; }

    /// Appends rows with the next numbers in one transaction. Completes when it is on the disk.
    asio::awaitable<void> append(std::uint64_t rows);
    std::uint64_t appended() const noexcept { return appended_; }

    /// Waits until the appended rows are copied from the write-ahead log into the database. That
    /// work of the writer then falls into no measured time.
    asio::awaitable<void> settle();

    /// Awaits `work`, then stops the relay and the database, even after a failure.
    asio::awaitable<int> run(asio::awaitable<void> work);
    clock::duration stop_took() const noexcept { return stop_took_; }

    /// Sums over all shards.
    struct sum {
        std::size_t shards = 0;
        std::uint64_t messages = 0;
        std::uint64_t batches = 0;
        std::uint64_t writes = 0;
        std::uint64_t purges = 0;
        std::uint64_t purged = 0;
    };
    sum sums() const;

private:
    asio::awaitable<void> stop();

    const bench_records records_;
    db::sqlite shop_;
    const outbox::relay_config config_;
    outbox::relay relay_;
    std::uint64_t appended_ = 0;
    clock::duration stop_took_{};
};

}  // namespace mortise::tool

#endif
