// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_CONNECTION_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_CONNECTION_HPP

#include "mortise/sim/process.hpp"
#include "support/tcp_inbox.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

namespace mortise::zookeeper_model {

/// A TCP connection between two simulated processes: what is sent arrives once, in its order, or
/// the connection breaks. Nobody is told of a cut link, nor of a machine that has no power.
///
/// @par Threads The world's. What arrives runs as a handler of its process.
class sim_connection : public std::enable_shared_from_this<sim_connection> {
public:
    enum class side : std::uint8_t { client, server };
    /// What is done where a message arrives. It gets the connection, which must not keep itself.
    using message = std::function<void(const std::shared_ptr<sim_connection>& by)>;

    /// In the present lives of both processes.
    sim_connection(std::uint64_t number, sim::process& client, sim::process& server);

    std::uint64_t number() const noexcept { return number_; }

    /// Calls this when the connection has ended, unless this side has closed it.
    void on_end(side at, std::function<void()> ended) { end_of(at).ended = std::move(ended); }
    /// Runs this in the other process, unless the connection ends before.
    void send(side from, message arrive);
    /// Ends it. The other side is told, after all that was sent.
    void close(side by);
    bool open(side at) const { return !ends_.at(static_cast<std::size_t>(at)).closed; }

private:
    struct endpoint {
        sim::process* process = nullptr;
        std::uint64_t life = 0;
        test::tcp_inbox<message> inbox;
        std::uint64_t sent = 0;
        std::function<void()> ended;
        bool closed = false;
    };

    static constexpr side other(side one) noexcept {
        return one == side::client ? side::server : side::client;
    }
    endpoint& end_of(side one) { return ends_.at(static_cast<std::size_t>(one)); }
    void arrived(side at, std::uint64_t number, message next);
    void break_at_hole(side at, std::uint64_t awaited);
    void reset(side from);
    void hear_end(side at);

    const std::uint64_t number_;
    std::array<endpoint, 2> ends_;
};

using connection_ptr = std::shared_ptr<sim_connection>;

}  // namespace mortise::zookeeper_model

#endif
