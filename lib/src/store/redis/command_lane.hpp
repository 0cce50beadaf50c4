// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_COMMAND_LANE_HPP
#define MORTISE_STORE_REDIS_COMMAND_LANE_HPP

#include "mortise/coro/event.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// Keeps the commands of one connection in the order of their calls.
///
/// Only `in_flight_max` commands are without a reply at any time, so that a heartbeat never queues
/// behind tens of thousands of them. A command that the server refused because it had forgotten the
/// script (NOSCRIPT) is repeated before any later one is sent.
///
/// @par Threads The strand.
class command_lane {
public:
    static constexpr std::size_t in_flight_max = 512;

    enum class priority : std::uint8_t {
        normal,
        urgent,  ///< Goes ahead of the commands that wait, and is not bound by `in_flight_max`.
    };

    explicit command_lane(asio::any_io_executor strand) : strand_(std::move(strand)) {}
    command_lane(const command_lane&) = delete;
    command_lane& operator=(const command_lane&) = delete;

    /// Takes a place if one is free and no earlier command waits. The caller sends at once.
    bool enter_now(priority urgency) noexcept;

    /// Waits for a place. The caller sends at once when this returns true.
    /// @return false if the lane was cleared meanwhile: the command was not sent.
    asio::awaitable<bool> enter(priority urgency);

    /// Gives the place back: the command was carried out, or its outcome is unknown.
    void leave();

    /// Gives back the place of a command that the server refused because it did not know the
    /// script, and waits for another one, ahead of all commands that were called later. That place
    /// is free once every command that was sent earlier has its reply.
    /// @return false if the lane was cleared meanwhile: the command had no effect.
    asio::awaitable<bool> enter_again();

    /// Whether a later command was carried out while an earlier one waits to be repeated. This
    /// connection can no longer keep the order; the owner closes it and clears the lane.
    bool out_of_order() const noexcept { return out_of_order_; }

    /// Forgets all commands, because the connection is gone: nothing is in flight, and all waits
    /// end.
    void clear();

    std::size_t in_flight() const noexcept { return in_flight_; }

private:
    struct waiter {
        explicit waiter(const asio::any_io_executor& strand) : over(strand) {}

        coro::event over;
        bool admitted = false;
    };
    using waiter_ptr = std::shared_ptr<waiter>;

    asio::awaitable<bool> wait(waiter_ptr mine);
    void admit();

    const asio::any_io_executor strand_;
    const std::shared_ptr<int> alive_ = std::make_shared<int>();
    std::deque<waiter_ptr> waiting_;
    std::deque<waiter_ptr> refused_;  ///< Commands to repeat once nothing is in flight.
    std::size_t in_flight_ = 0;       ///< Includes the admitted commands.
    std::size_t admitted_ = 0;        ///< Commands that have a place and have not resumed yet.
    bool out_of_order_ = false;
    std::uint64_t cleared_ = 0;  ///< How often `clear` was called.
};

}  // namespace mortise::store_detail

#endif
