// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SERVER_METER_HPP
#define MORTISE_TOOLS_BENCH_SERVER_METER_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// The work that a server has counted for all its clients since some moment. A server may count
/// only one of them.
struct server_counts {
    std::optional<std::uint64_t> commands;
    std::optional<std::uint64_t> bytes;  ///< Read from clients other than the meter.

    server_counts operator-(const server_counts& before) const noexcept {
        server_counts more;
        if (bytes && before.bytes)
            more.bytes = *bytes - *before.bytes;
        if (commands && before.commands)
            more.commands = *commands - *before.commands;
        return more;
    }
    void operator+=(const server_counts& more) noexcept {
        if (more.bytes)
            bytes = bytes.value_or(0) + *more.bytes;
        if (more.commands)
            commands = commands.value_or(0) + *more.commands;
    }
};

/// Messages of an echo measurement.
struct echo_count {
    std::uint64_t one_way = 0;
    std::chrono::nanoseconds took{};
};

/// A second connection to the server of a store. It measures the limits that locks are compared
/// with, and reads the server's counters.
///
/// Each member blocks until it is done. Each throws failure if the server does not answer, or if
/// the measurement is interrupted.
class server_meter {
public:
    /// Connects to the server in the URL of a store. Null if the URL names no single server: a
    /// file, or sentinels.
    static std::unique_ptr<server_meter> of(const std::string& store);
    virtual ~server_meter() = default;
    server_meter(const server_meter&) = delete;
    server_meter& operator=(const server_meter&) = delete;

    /// The least exchange by which an acquire or a release can be done, in words for people.
    virtual std::string_view exchange() const noexcept = 0;
    /// Does it again and again. @return how often per second.
    virtual double exchanges_per_s(std::chrono::milliseconds span) = 0;

    /// The server's counters. Nothing if this user may not read them, or if they are not up to date
    /// while clients of the store are connected and `connected` says that there are some.
    virtual std::optional<server_counts> counts(bool connected) = 0;
    /// Whether `commands` has heartbeats in it. At SQL servers it has not: there a command is a
    /// message that changes a lock.
    virtual bool counts_heartbeats() const noexcept { return true; }

    /// Subscribes to `channel`.
    virtual void subscribe(const std::string& channel) = 0;

    /// Publishes to `channel` and waits for the message back, again and again. Publishes the end
    /// mark at last.
    virtual echo_count echo_for(const std::string& channel, std::chrono::milliseconds span) = 0;

    /// Does that once, without the end mark.
    virtual void echo_once(const std::string& channel) = 0;
    virtual void end_echo(const std::string& channel) = 0;

    /// Publishes to `channel` each message that it receives, until the end mark.
    virtual void echo_back(const std::string& channel) = 0;

    /// Removes everything that measurements leave at the server.
    virtual void clean_up() {}

protected:
    server_meter() = default;
};

/// A meter whose client library blocks. It echoes by `publish` and `hear`.
class blocking_meter : public server_meter {
public:
    echo_count echo_for(const std::string& channel, std::chrono::milliseconds span) final;
    void echo_once(const std::string& channel) final;
    void end_echo(const std::string& channel) final;
    void echo_back(const std::string& channel) final;

    double exchanges_per_s(std::chrono::milliseconds span) final;

protected:
    static constexpr const char* echo = "e";
    static constexpr const char* last_echo = "q";

    virtual void exchange_once() = 0;
    virtual void publish(const std::string& channel, const std::string& word) = 0;
    /// Waits for the next message. @return its word.
    virtual std::string hear() = 0;
};

// The meters of each kind of server; null if the URL is of another kind.
std::unique_ptr<server_meter> make_redis_meter(const std::string& store);
std::unique_ptr<server_meter> make_postgres_meter(const std::string& store);
std::unique_ptr<server_meter> make_mysql_meter(const std::string& store);
std::unique_ptr<server_meter> make_zookeeper_meter(const std::string& store);

}  // namespace mortise::tool

#endif
