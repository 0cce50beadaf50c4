// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_RESOURCE_HPP
#define MORTISE_TESTS_SIM_RESOURCE_HPP

#include "mortise/fencing_gate.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/sim/process.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace mortise::sim {
class world;
}

namespace mortise::test {

/// The data behind the locks: numbers in a process of its own, read and written by messages. The
/// numbers check themselves: each writer writes one more than it has read, so a number that does
/// not grow by one with each write has lost an update.
class resource {
public:
    /// Calls `broken` when a fenced number loses an update.
    resource(sim::world& in, std::function<void(const std::string&)> broken);

    /// Raises the fence, then reads.
    ///
    /// @par Errors `stale_token`, `outcome_unknown`
    asio::awaitable<result<std::uint64_t>>
    read(sim::process& from, std::string key, fencing_token token);
    asio::awaitable<error_code>
    write(sim::process& from, std::string key, fencing_token token, std::uint64_t value);

    /// The same for a number without a fence.
    asio::awaitable<result<std::uint64_t>> read_unfenced(sim::process& from, std::string key);
    asio::awaitable<error_code>
    write_unfenced(sim::process& from, std::string key, std::uint64_t value);

    sim::process& host() noexcept { return host_; }
    std::uint64_t writes() const noexcept { return writes_; }
    /// Writes that the fence refused.
    std::uint64_t refused() const noexcept { return refused_; }
    /// Updates that unfenced numbers have lost.
    std::uint64_t lost_unfenced() const noexcept { return lost_unfenced_; }

private:
    struct fenced_number {
        std::uint64_t value = 0;
        fencing_gate gate;
    };

    /// Whether the request is new: a message that is repeated on its way counts once.
    bool first_time(std::uint64_t number) { return done_.insert(number).second; }

    error_code admit(fenced_number& at, const fencing_token& token);
    error_code do_write(const std::string& key, const fencing_token& token, std::uint64_t value);

    sim::process& host_;
    std::function<void(const std::string&)> broken_;
    std::map<std::string, fenced_number> fenced_;
    std::map<std::string, std::uint64_t> unfenced_;
    std::uint64_t last_request_ = 0;
    std::set<std::uint64_t> done_;
    std::uint64_t writes_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t lost_unfenced_ = 0;
};

}  // namespace mortise::test

#endif
