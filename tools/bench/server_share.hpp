// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SERVER_SHARE_HPP
#define MORTISE_TOOLS_BENCH_SERVER_SHARE_HPP

#include "bench/bench_report.hpp"
#include "bench/server_meter.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::tool {

/// What the locks of a measurement cost the server, by the server's own counters.
class server_share {
public:
    /// Counts nothing until it is connected, nor for a store without a server that counts.
    server_share() = default;

    /// Call it after the store has been used: the store explains better why a server does not
    /// answer.
    void connect(const std::string& store) { meter_ = server_meter::of(store); }

    /// The connection, or null.
    server_meter* meter() const noexcept { return meter_.get(); }

    /// `begin` and `end` enclose the work that counts. `connected`: clients that work are connected
    /// at that moment.
    void begin(bool connected);
    void end(bool connected);

    /// Adds the figures per lock, after it subtracts the heartbeats from the commands. Adds none if
    /// no server counts.
    void report(bench_report& into, std::uint64_t locks, std::uint64_t heartbeats) const;

    /// The counted work.
    std::optional<server_counts> total() const noexcept;

private:
    std::unique_ptr<server_meter> meter_;
    std::optional<server_counts> before_;
    server_counts sum_;
    bool known_ = false;
};

}  // namespace mortise::tool

#endif
