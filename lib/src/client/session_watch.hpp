// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_SESSION_WATCH_HPP
#define MORTISE_CLIENT_SESSION_WATCH_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace mortise::detail {

/// The state of a session that its leases and waiters read from any thread, without asking anybody.
///
/// Written on the client's strand. A thread that reads a deadline also sees all writes before it:
/// so it sees that the grants of an earlier session are lost (see `held_grant::state`).
class session_watch {
public:
    void publish(clock::time_point verified, clock::time_point deadline) noexcept {
        put(verified_, verified);
        put(deadline_, deadline);
    }
    clock::time_point verified() const noexcept { return at(verified_); }
    clock::time_point deadline() const noexcept { return at(deadline_); }

    /// Why the store cannot be asked; zero if it can.
    errc outage() const noexcept { return outage_; }
    void set_outage(errc why) noexcept { outage_ = why; }

    /// How long the store grants nothing because it may have forgotten something.
    clock::duration quarantine_left(clock::time_point now) const noexcept {
        const auto until = at(quarantine_until_);
        return until == clock::time_point::min() ? clock::duration::zero()
                                                 : std::max(clock::duration::zero(), until - now);
    }
    /// The minimum of the clock stands for no quarantine.
    void set_quarantine(clock::time_point until) noexcept { put(quarantine_until_, until); }

private:
    using moment = std::atomic<clock::rep>;

    static clock::time_point at(const moment& value) noexcept {
        return clock::time_point(clock::duration(value.load(std::memory_order_acquire)));
    }
    static void put(moment& value, clock::time_point when) noexcept {
        value.store(when.time_since_epoch().count(), std::memory_order_release);
    }

    moment verified_ = clock::time_point::min().time_since_epoch().count();
    moment deadline_ = clock::time_point::min().time_since_epoch().count();
    moment quarantine_until_ = clock::time_point::min().time_since_epoch().count();
    std::atomic<errc> outage_ = errc();
};

class client_core;

/// The parts of a client that its leases need, even when the client is gone.
///
/// @par Threads Any.
class client_home {
public:
    explicit client_home(std::shared_ptr<coro::time_source> time) noexcept
        : time_(std::move(time)) {}

    /// The client was told to stop, or destroyed: its leases are lost from that call on, before its
    /// strand has run.
    void stop() noexcept { stopped_.store(true, std::memory_order_release); }
    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

    clock::time_point now() const noexcept { return time_->now(); }
    bool forked() const noexcept { return process_.forked(); }

    // Written once, before any lease exists.
    std::weak_ptr<client_core> core;
    asio::any_io_executor executor;

private:
    const std::shared_ptr<coro::time_source> time_;
    const coro::detail::fork_guard process_;
    std::atomic<bool> stopped_ = false;
};

}  // namespace mortise::detail

#endif
