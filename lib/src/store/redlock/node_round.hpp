// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_NODE_ROUND_HPP
#define MORTISE_STORE_REDLOCK_NODE_ROUND_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/event.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace mortise::store_detail {

namespace asio = boost::asio;

/// Calls to several nodes at once, and the wait for their answers.
///
/// @par Threads   The strand.
/// @par Lifetimes Each call keeps its round.
class node_round {
public:
    node_round(asio::any_io_executor strand, std::shared_ptr<coro::time_source> time)
        : strand_(std::move(strand)),
          time_(std::move(time)),
          began_(time_->now()),
          news_(strand_) {}

    clock::time_point began() const noexcept { return began_; }
    void sent() noexcept { ++pending_; }
    void answered() {
        --pending_;
        news_.set();
    }

    /// Waits until all calls are answered, or until `enough()` and then for as long as that has
    /// taken, `grace_min` at least: nodes that are only a little slower are worth it, and one that
    /// is stuck must not hold up the rest.
    asio::awaitable<void>
    wait(std::function<bool()> enough, clock::duration grace_min = std::chrono::milliseconds(1));

    /// Waits until all calls are answered, or until `enough()`. Several may wait for one round.
    asio::awaitable<void> wait_until(std::function<bool()> enough);

    /// Whether an answer is open.
    bool is_open() const noexcept { return pending_ != 0; }

private:
    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const clock::time_point began_;
    coro::event news_;
    coro::detail::alarm late_alarm_;
    bool late_ = false;
    std::size_t pending_ = 0;
};

}  // namespace mortise::store_detail

#endif
