// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_COORDINATOR_CONTEXT_HPP
#define MORTISE_TXN_COORDINATOR_COORDINATOR_CONTEXT_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/deadline_list.hpp"
#include "mortise/coro/detail/strand_seat.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/txn/coordinator_config.hpp"
#include "mortise/txn/coordinator_stats.hpp"
#include "mortise/txn/txn_observer.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace mortise::txn::detail {

namespace asio = boost::asio;

class coordinator_core;
class partition;
class running;

/// Counts for `coordinator_stats`, which any thread may read.
struct coordinator_counters {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> confirmed{0};
    std::atomic<std::uint64_t> cancelled{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> calls_failed{0};
    std::atomic<std::uint64_t> taken_up{0};
    std::atomic<std::uint64_t> stuck{0};
    std::atomic<std::uint64_t> suspicious{0};
    std::atomic<std::uint64_t> open{0};
    std::atomic<std::uint64_t> forgotten{0};
    std::atomic<std::uint64_t> partitions{0};
    std::atomic<std::uint64_t> broken{0};
    std::atomic<std::uint64_t> prepared{0};
    std::atomic<std::uint64_t> prepared_oldest_ms{0};
    std::atomic<std::uint64_t> orphans_ended{0};
    std::atomic<std::uint64_t> orphans_left{0};
};

/// Everything that the parts of a coordinator share: the strand, the configuration, the timers, the
/// observer, and how far the end of the coordinator has come.
///
/// @par Threads The strand, except for the members marked "Any thread".
class coordinator_context {
public:
    using timer = coro::detail::deadline_list::handle;

    /// @throws error if the configuration is not usable.
    coordinator_context(asio::any_io_executor executor, coordinator_config config);

    // Any thread.
    const asio::any_io_executor& executor() const noexcept { return seat_.executor(); }
    const asio::any_io_executor& strand() const noexcept { return seat_.strand(); }
    bool deserted() const noexcept { return seat_.deserted(); }
    bool forked() const noexcept { return seat_.forked(); }
    const coordinator_config& config() const noexcept { return config_; }
    const std::shared_ptr<coro::time_source>& time() const noexcept { return time_; }
    clock::time_point now() const noexcept { return time_->now(); }
    coordinator_stats stats() const noexcept;
    /// Keeps all parts alive. Every handler that is waited for holds one.
    std::shared_ptr<const void> keep() const noexcept { return owner_.lock(); }
    /// As `keep`, for handlers that may be called after the end of the coordinator.
    const std::weak_ptr<const void>& owner() const noexcept { return owner_; }

    /// Call once, before anybody else has the owner. @return false if it must shut down at once.
    [[nodiscard]] bool take(const std::shared_ptr<coordinator_core>& owner);
    void leave() noexcept { seat_.leave(); }

    /// Nothing new is begun, and what is under way is decided.
    bool stopping() const noexcept { return stopping_; }
    /// @return false if it is stopping already.
    bool begin_stop() noexcept { return !std::exchange(stopping_, true); }
    /// The log is closed; answers that arrive now are void.
    bool closed() const noexcept { return closed_; }
    /// @return false if it is closed already.
    bool close() noexcept { return !std::exchange(closed_, true); }

    void set_timer(timer& at, clock::time_point when, coro::detail::deadline_list::task work) {
        deadlines_.set(at, when, std::move(work));
    }
    void clear_timer(timer& at) { deadlines_.clear(at); }
    void clear_timers();
    /// Waits for the earliest timer. Call after timers were set.
    void arm();

    void report(const txn_event& event) const {
        if (config_.observer != nullptr)
            config_.observer->on_event(event);
    }
    void report(txn_event::kind kind, const running& transaction, branch_number branch = 0) const;
    void report(txn_event::kind kind, const partition& at, error_code why = {}) const;
    txn_event event_of(txn_event::kind kind, const running& transaction) const;

    coordinator_counters count;

private:
    void on_alarm();

    coro::detail::strand_seat seat_;
    const coordinator_config config_;
    const std::shared_ptr<coro::time_source> time_;
    std::weak_ptr<const void> owner_;
    bool stopping_ = false;
    bool closed_ = false;
    coro::detail::deadline_list deadlines_;
    coro::detail::alarm alarm_;
    clock::time_point armed_for_;
};

/// A part of a coordinator. It owns its state, and reaches the other parts through the core.
class coordinator_part {
protected:
    coordinator_part(coordinator_core& core, coordinator_context& context) noexcept
        : core_(core), context_(context) {}
    ~coordinator_part() = default;
    coordinator_part(const coordinator_part&) = delete;
    coordinator_part& operator=(const coordinator_part&) = delete;

    coordinator_core& core_;
    coordinator_context& context_;
};

}  // namespace mortise::txn::detail

#endif
