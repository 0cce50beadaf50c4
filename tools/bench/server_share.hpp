// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_SERVER_SHARE_HPP
#define MORTISE_TOOLS_BENCH_SERVER_SHARE_HPP

#include "bench/bench_report.hpp"
#include "bench/redis_meter.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::tool {

/// What the locks of a measurement cost the server, as the server itself counts it.
class server_share {
public:
    /// Until it is connected nothing is known; nor is it at a store without a server that counts.
    server_share() = default;

    /// Best once the store itself has shown that it can be used: it explains better why not.
    void connect(const std::string& store) { meter_ = redis_meter::of(store); }

    /// The connection, or null.
    redis_meter* meter() const noexcept { return meter_.get(); }

    /// Between the two, what the server does counts.
    void begin();
    void end();

    /// Adds the figures, for so many locks and with so many heartbeats among the commands; none
    /// where there is no server that counts.
    void report(bench_report& into, std::uint64_t locks, std::uint64_t heartbeats) const;

    /// What has been counted.
    std::optional<server_counts> total() const noexcept;

private:
    std::unique_ptr<redis_meter> meter_;
    std::optional<server_counts> before_;
    server_counts sum_;
    bool known_ = false;
};

}  // namespace mortise::tool

#endif
