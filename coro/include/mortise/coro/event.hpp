// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_EVENT_HPP
#define MORTISE_CORO_EVENT_HPP

#include "mortise/coro/detail/initiate.hpp"

#include <memory>
#include <utility>

namespace mortise::coro {

namespace detail {
class event_state;
}

/// Something that has happened, or not yet. It stays set until it is reset.
///
/// @par Threads      Any, for all members.
/// @par Lifetimes    Destroying the event completes all that wait with `operation_aborted`.
class event {
public:
    using executor_type = asio::any_io_executor;

    /// `executor` completes handlers that have no executor of their own.
    explicit event(executor_type executor);
    ~event();
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    executor_type get_executor() const noexcept { return executor_; }

    /// Waits until the event is set; at once if it is.
    ///
    /// @par Completion   `void(error_code)`
    /// @par Errors       `operation_aborted`: cancelled or closed.
    /// @par Cancellation terminal, partial, total, all alike. A signal after `set` has no effect.
    /// @par Threads      Any. Completes by post to the handler's executor, never from inside this
    ///                   call or from inside `set`.
    /// @par Cost         Nothing to allocate when it is set, one allocation when not.
    template <class Token = asio::deferred_t>
    auto async_wait(Token&& token = Token{}) {
        return detail::async_start<void(error_code)>(
            executor_, std::forward<Token>(token), &event::start_wait, state_
        );
    }

    /// Completes all waits, in the order they began. A `reset` right after takes nothing back.
    void set();
    void reset() noexcept;
    [[nodiscard]] bool is_set() const noexcept;

    /// Completes all present and later waits with `operation_aborted`.
    void close() noexcept;

private:
    static void start_wait(
        detail::completion<void(error_code)> done, std::shared_ptr<detail::event_state> state
    );

    executor_type executor_;
    std::shared_ptr<detail::event_state> state_;
};

}  // namespace mortise::coro

#endif
