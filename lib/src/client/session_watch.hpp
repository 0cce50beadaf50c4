// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_SESSION_WATCH_HPP
#define MORTISE_CLIENT_SESSION_WATCH_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/time_source.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace mortise::detail {

/// The state of a session that its leases read from any thread, without asking anybody.
///
/// Written on the client's strand. A thread that reads a deadline also sees all writes before it:
/// so it sees that the grants of an earlier session are lost (see `held_grant::state`).
class session_watch {
public:
    explicit session_watch(std::shared_ptr<coro::time_source> time) noexcept
        : time_(std::move(time)) {}

    void publish(clock::time_point verified, clock::time_point deadline) noexcept {
        verified_.store(verified.time_since_epoch().count(), std::memory_order_release);
        deadline_.store(deadline.time_since_epoch().count(), std::memory_order_release);
    }

    /// The client was told to stop, or destroyed: its leases are lost from that call on, before its
    /// strand has run. Any thread.
    void stop() noexcept { stopped_.store(true, std::memory_order_release); }
    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

    clock::time_point now() const noexcept { return time_->now(); }

    clock::time_point verified() const noexcept { return at(verified_); }
    clock::time_point deadline() const noexcept { return at(deadline_); }
    bool forked() const noexcept { return process_.forked(); }

private:
    static clock::time_point at(const std::atomic<clock::rep>& value) noexcept {
        return clock::time_point(clock::duration(value.load(std::memory_order_acquire)));
    }

    const std::shared_ptr<coro::time_source> time_;
    const coro::detail::fork_guard process_;
    std::atomic<bool> stopped_ = false;
    std::atomic<clock::rep> verified_ = clock::time_point::min().time_since_epoch().count();
    std::atomic<clock::rep> deadline_ = clock::time_point::min().time_since_epoch().count();
};

class client_core;

/// The parts of a client that its leases need, even when the client is gone.
struct client_home {
    std::shared_ptr<session_watch> session;
    std::weak_ptr<client_core> core;
    asio::any_io_executor executor;
};

}  // namespace mortise::detail

#endif
