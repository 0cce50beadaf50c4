// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REPLICA_QUORUM_HPP
#define MORTISE_STORE_REDIS_REPLICA_QUORUM_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"
#include "store/redis/deaf_wire_events.hpp"
#include "store/redis/redis_scripts.hpp"
#include "store/redis/redis_wire.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace mortise::store_detail {

using coro::detail::alarm;

/// Waits until replicas have what was written. `WAIT` blocks its connection and counts what that
/// connection itself wrote last: so this one has a connection of its own, on which it writes before
/// it waits.
///
/// @par Threads The strand.
class replica_quorum final : public std::enable_shared_from_this<replica_quorum> {
public:
    replica_quorum(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        unsigned replicas,
        redis_wire_factory wires
    );

    /// Waits until so many replicas have acknowledged all that was written before this call. Calls
    /// that come while one is under way are answered together by the next one.
    ///
    /// @param write the command that writes something for the session, and then says "o".
    /// @param limit for the replicas; a server that is silent for twice as long is given up.
    /// @par Errors `not_enough_replicas`; `outcome_unknown`: it was not written; or why there is no
    ///     connection.
    asio::awaitable<error_code> reach(redis_command write, std::chrono::milliseconds limit);

    /// Closes the connection; who waits is answered with an error, and no other is opened for them.
    void close() noexcept;

private:
    struct round {
        explicit round(const asio::any_io_executor& strand) : over(strand) {}

        coro::event over;
        redis_command write;                ///< Of who came last,
        std::chrono::milliseconds limit{};  ///< and for how long that one waits.
        error_code outcome;
    };

    asio::awaitable<error_code> ask(redis_command write, std::chrono::milliseconds limit);
    asio::awaitable<error_code>
    reach_on(redis_wire& wire, redis_command write, std::chrono::milliseconds limit);
    asio::awaitable<void> run(std::shared_ptr<replica_quorum> self);

    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const unsigned replicas_;
    const redis_wire_factory wires_;
    deaf_wire_events deaf_;
    std::shared_ptr<redis_wire> wire_;
    std::shared_ptr<round> next_;  ///< What those wait for who came while one is under way.
    bool open_ = false;            ///< `wire_` was opened.
    bool running_ = false;
};

}  // namespace mortise::store_detail

#endif
