// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RESOURCE_DESK_HPP
#define MORTISE_TESTS_STORM_RESOURCE_DESK_HPP

#include "mortise/fencing_gate.hpp"
#include "storm/plan.hpp"
#include "storm/resource_message.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <array>
#include <cstdint>

namespace mortise::storm {

namespace asio = boost::asio;

/// The data behind the locks: a number for each lock, and for each of its permits, behind a fence.
/// The numbers live in the process that is never stopped, and workers reach them over sockets.
class resource_desk {
public:
    explicit resource_desk(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    /// Serves the peer until it closes its end. Owns the descriptor.
    void serve(int socket);

    /// Admitted writes without a lasting effect: each write should add one to its number.
    std::uint64_t lost_updates() const noexcept;
    std::uint64_t writes() const noexcept;
    /// Reads and writes refused because they came too late.
    std::uint64_t refused() const noexcept { return refused_; }

private:
    using socket = asio::local::stream_protocol::socket;

    struct resource {
        fencing_gate gate;
        std::uint64_t value = 0;
        std::uint64_t writes = 0;
    };

    asio::awaitable<void> talk(socket with);
    void handle(resource_message& message);

    asio::any_io_executor executor_;
    std::array<std::array<resource, slots_max>, locks.size()> resources_;
    std::uint64_t refused_ = 0;
};

}  // namespace mortise::storm

#endif
