// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_REDIS_METER_HPP
#define MORTISE_TOOLS_BENCH_REDIS_METER_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::tool {

/// What a Redis server has counted for all its clients since some moment.
struct server_counts {
    /// Calls of scripts: a store in the queue form sends nothing else while it works. Empty in the
    /// single-key form: the server counts its plain commands together with those inside scripts.
    std::optional<std::uint64_t> commands;
    std::uint64_t bytes = 0;  ///< Read from clients other than the meter.

    server_counts operator-(const server_counts& before) const noexcept {
        server_counts more;
        more.bytes = bytes - before.bytes;
        if (commands && before.commands)
            more.commands = *commands - *before.commands;
        return more;
    }
};

/// Messages of an echo measurement.
struct echo_count {
    std::uint64_t one_way = 0;
    std::chrono::nanoseconds took{};
};

/// A second connection to the Redis server of a store, by the store's own client library. It
/// measures the limits that locks are compared with, and reads the server's counters.
///
/// Each member blocks until it is done. Each throws failure if the server does not answer, or if
/// the measurement is interrupted.
class redis_meter {
public:
    /// Connects to the server in the URL of a store. Null if the URL names no single Redis server:
    /// other stores, and sentinels.
    static std::unique_ptr<redis_meter> of(const std::string& store);
    ~redis_meter();
    redis_meter(const redis_meter&) = delete;
    redis_meter& operator=(const redis_meter&) = delete;

    /// Sends PING and waits for the answer, again and again. @return how often per second.
    double pings_per_s(std::chrono::milliseconds span);

    /// The server's counters. Nothing if this user may not read them.
    std::optional<server_counts> counts();

    /// Subscribes to `channel`.
    void subscribe(const std::string& channel);

    /// Publishes to `channel` and waits for the message back, again and again. Publishes the end
    /// mark at last.
    echo_count echo_for(const std::string& channel, std::chrono::milliseconds span);

    /// Does that once, without the end mark.
    void echo_once(const std::string& channel);
    void end_echo(const std::string& channel);

    /// Publishes to `channel` each message that it receives, until the end mark.
    void echo_back(const std::string& channel);

private:
    class line;
    explicit redis_meter(std::unique_ptr<line> opened);

    std::unique_ptr<line> line_;
};

}  // namespace mortise::tool

#endif
