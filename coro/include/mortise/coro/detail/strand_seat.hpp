// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_STRAND_SEAT_HPP
#define MORTISE_CORO_DETAIL_STRAND_SEAT_HPP

#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/detail/wait_service.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <memory>
#include <optional>

namespace mortise::coro::detail {

/// The place of an object that works beside its users: an executor, a strand of its own there, and
/// a check whether both are still usable: they end with the context and, for a child's copy, with a
/// fork.
///
/// The object is a `shutdown_hook`. In `shut_down` it lets go of every handler, posts nothing, and
/// leaves the seat at last.
class strand_seat {
public:
    /// Whether a coroutine that waits on the strand keeps `run` of the context from returning.
    enum class work { counted, not_counted };

    explicit strand_seat(asio::any_io_executor executor, work how = work::counted);
    strand_seat(const strand_seat&) = delete;
    strand_seat& operator=(const strand_seat&) = delete;

    const asio::any_io_executor& executor() const noexcept { return executor_; }
    /// Valid until `leave`.
    const asio::any_io_executor& strand() const noexcept { return *strand_; }

    /// Registers the object for the end of the context. Call once, before anybody else has it.
    /// @return false if the context is ending: the object must shut down by itself.
    [[nodiscard]] bool take(const std::shared_ptr<shutdown_hook>& who);
    void leave() noexcept { strand_.reset(); }

    /// Whether nobody answers here: the seat was not taken, the context has ended, or this is the
    /// copy of a forked child. Any thread.
    bool deserted() const noexcept { return ended() || process_.forked(); }
    /// Whether the seat was not taken, or the context has ended. Any thread.
    bool ended() const noexcept { return !ended_ || *ended_; }
    bool forked() const noexcept { return process_.forked(); }

private:
    const asio::any_io_executor executor_;
    std::optional<asio::any_io_executor> strand_;
    const fork_guard process_;
    std::shared_ptr<const std::atomic<bool>> ended_;
};

}  // namespace mortise::coro::detail

#endif
