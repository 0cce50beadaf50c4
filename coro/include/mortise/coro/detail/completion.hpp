// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORO_DETAIL_COMPLETION_HPP
#define MORTISE_CORO_DETAIL_COMPLETION_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/coro/fwd.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace mortise::coro::detail {

template <class Signature>
class completion;

/// A completion handler that is owed one call, and all that a wait must know about it.
///
/// It holds outstanding work on the handler's associated executor (else on the fallback), so that
/// an `io_context::run()` waits with it. `complete` posts the handler to that executor and never
/// calls it from inside; `complete_here` may. A completion that is destroyed instead destroys the
/// handler, and with it the frame of the coroutine that waits; so does the end of the context (see
/// wait_service).
///
/// @par Threads      Distinct objects: any. It touches the handler's cancellation slot only in
///                   `slot()`, which belongs into the initiating call.
template <class... Args>
class completion<void(Args...)> {
public:
    using handler_type = asio::any_completion_handler<void(Args...)>;

    completion() noexcept = default;

    template <class Handler>
    completion(Handler&& handler, const asio::any_io_executor& fallback)
        : completion(
              asio::get_associated_executor(handler, fallback),
              std::forward<Handler>(handler),
              fallback
          ) {}

    completion(completion&&) noexcept = default;
    completion& operator=(completion&& other) noexcept {
        // Use a temporary: the old handler may own the frame that contains *this.
        completion held(std::move(other));
        std::swap(handler_, held.handler_);
        std::swap(executor_, held.executor_);
        std::swap(second_hop_, held.second_hop_);
        std::swap(deaf_, held.deaf_);
        return *this;
    }

    explicit operator bool() const noexcept { return static_cast<bool>(handler_); }

    /// The slot that cancels the wait; not connected after `release_slot`.
    asio::cancellation_slot slot() const noexcept {
        return deaf_ ? asio::cancellation_slot() : handler_.get_cancellation_slot();
    }

    /// Makes the wait itself deaf to cancellation and gives the slot to the caller.
    asio::cancellation_slot release_slot() noexcept {
        const auto taken = slot();
        deaf_ = true;
        return taken;
    }

    const asio::any_io_executor& get_executor() const noexcept { return executor_; }

    /// The context whose end must destroy the handler.
    asio::execution_context& context() const noexcept {
        return asio::query(executor_, asio::execution::context);
    }

    /// Posts the handler with these arguments; *this is empty afterwards.
    void complete(Args... args) {
        MORTISE_ASSERT(handler_);
        auto executor = std::exchange(executor_, asio::any_io_executor());
        call todo(std::exchange(handler_, handler_type()), std::move(args)...);
        const auto never = asio::require(executor, asio::execution::blocking.never);
        if (second_hop_)
            never.execute(hop(std::move(todo), executor));
        else
            never.execute(std::move(todo));
    }

    /// Calls the handler at once if this thread runs its executor, else posts it; *this is empty
    /// afterwards. For a caller that holds nothing and expects anything from the handler.
    void complete_here(Args... args) {
        if (second_hop_)
            return complete(std::move(args)...);
        MORTISE_ASSERT(handler_);
        auto executor = std::exchange(executor_, asio::any_io_executor());
        executor.execute(call(std::exchange(handler_, handler_type()), std::move(args)...));
    }

private:
    class call {
    public:
        explicit call(handler_type&& handler, Args&&... args)
            : handler_(std::move(handler)), args_(std::move(args)...) {}
        void operator()() { std::apply(std::move(handler_), std::move(args_)); }
        handler_type handler_;

    private:
        std::tuple<Args...> args_;
    };

    // Posts to the fallback, then dispatches, for a handler whose executor is erased so far that
    // nothing can be posted to it.
    class hop {
    public:
        hop(call&& todo, asio::any_io_executor first)
            : todo_(std::move(todo)), first_(std::move(first)) {}
        void operator()() {
            auto last = asio::get_associated_executor(todo_.handler_, first_);
            last.execute(std::move(todo_));
        }

    private:
        call todo_;
        asio::any_io_executor first_;
    };

    template <class Executor, class Handler>
    completion(const Executor& associated, Handler&& handler, const asio::any_io_executor& fallback)
        : second_hop_(!std::is_convertible_v<Executor, asio::any_io_executor>),
          executor_(asio::prefer(
              io_executor(associated, fallback), asio::execution::outstanding_work.tracked
          )),
          handler_(std::forward<Handler>(handler)) {}

    template <class Executor>
    static asio::any_io_executor io_executor(
        const Executor& associated, [[maybe_unused]] const asio::any_io_executor& fallback
    ) {
        if constexpr (std::is_convertible_v<Executor, asio::any_io_executor>)
            return associated;
        else
            return fallback;
    }

    bool second_hop_ = false;
    bool deaf_ = false;
    asio::any_io_executor executor_;  // destroyed after the handler, whose frame may run on it
    handler_type handler_;
};

}  // namespace mortise::coro::detail

#endif
