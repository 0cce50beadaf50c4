// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_REDIS_METER_HPP
#define MORTISE_TOOLS_BENCH_REDIS_METER_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::tool {

/// What a Redis server has counted, of all its clients, since some moment.
struct server_counts {
    /// Calls of scripts: what a store of the queue form sends while it works. Nothing in the
    /// single-key form, whose plain commands are counted together with those inside of scripts.
    std::optional<std::uint64_t> commands;
    std::uint64_t bytes = 0;  ///< Read from clients, but for those of the meter itself.

    server_counts operator-(const server_counts& before) const noexcept {
        server_counts more;
        more.bytes = bytes - before.bytes;
        if (commands && before.commands)
            more.commands = *commands - *before.commands;
        return more;
    }
};

/// Messages that went to and fro.
struct echo_count {
    std::uint64_t one_way = 0;
    std::chrono::nanoseconds took{};
};

/// A connection to the Redis server of a store, beside the store's own and by the same client
/// library: for the limits that locks are measured against, and for what the server counts.
///
/// Each member blocks until it is done. Each @throws failure if the server does not answer, or if
/// the measurement is interrupted.
class redis_meter {
public:
    /// Connects to the server in the URL of a store; nothing if it names none (other stores, and
    /// sentinels).
    static std::unique_ptr<redis_meter> of(const std::string& store);
    ~redis_meter();
    redis_meter(const redis_meter&) = delete;
    redis_meter& operator=(const redis_meter&) = delete;

    /// Sends PING and waits for the answer, again and again. @return how often a second.
    double pings_per_s(std::chrono::milliseconds span);

    /// Nothing if this user may not ask.
    std::optional<server_counts> counts();

    /// From now on it hears what is published there.
    void subscribe(const std::string& channel);

    /// Publishes there, and waits for what comes back, again and again. At the end it says so.
    echo_count echo_for(const std::string& channel, std::chrono::milliseconds span);

    /// The same once, without an end.
    void echo_once(const std::string& channel);
    void end_echo(const std::string& channel);

    /// Publishes there whatever it hears, until it hears the end.
    void echo_back(const std::string& channel);

private:
    class line;
    explicit redis_meter(std::unique_ptr<line> opened);

    std::unique_ptr<line> line_;
};

}  // namespace mortise::tool

#endif
