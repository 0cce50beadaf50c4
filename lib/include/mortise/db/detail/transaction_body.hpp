// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_DETAIL_TRANSACTION_BODY_HPP
#define MORTISE_DB_DETAIL_TRANSACTION_BODY_HPP

#include "mortise/coro/detail/completion.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace mortise::db::detail {

/// The closure of a transaction, and who waits for its end, without their types.
template <class Connection>
class transaction_body {
public:
    using done_function = std::function<void(std::exception_ptr)>;

    virtual ~transaction_body() = default;

    /// The executor of the caller, on which the closure runs.
    virtual const asio::any_io_executor& executor() const noexcept = 0;
    /// The slot of the caller. Call it once, in the initiating call.
    virtual asio::cancellation_slot release_slot() noexcept = 0;
    /// Runs the closure, stoppable through `slot`, and calls `done` at its end. Keeps what owns the
    /// connection alive until the closure's frame is gone. Call it on `executor()`.
    virtual void start(
        std::shared_ptr<void> owner,
        Connection& on,
        asio::cancellation_slot slot,
        done_function done
    ) = 0;
    /// Gives the caller the value of the last run, or the failure. The body is of no use after it.
    virtual void deliver(std::exception_ptr failure) = 0;
};

template <class T>
struct transaction_signature {
    using type = void(std::exception_ptr, T);
};
template <>
struct transaction_signature<void> {
    using type = void(std::exception_ptr);
};

template <class Connection, class Work>
class typed_transaction_body final
    : public transaction_body<Connection>,
      public std::enable_shared_from_this<typed_transaction_body<Connection, Work>> {
    using value_type = typename std::invoke_result_t<Work&, Connection&>::value_type;
    static constexpr bool is_void = std::is_void_v<value_type>;
    struct nothing {};

public:
    using typename transaction_body<Connection>::done_function;
    using signature = typename transaction_signature<value_type>::type;
    using completion = coro::detail::completion<signature>;

    typed_transaction_body(completion done, Work&& work)
        : done_(std::move(done)), work_(std::move(work)) {}

    const asio::any_io_executor& executor() const noexcept override { return done_.get_executor(); }
    asio::cancellation_slot release_slot() noexcept override { return done_.release_slot(); }

    void start(
        std::shared_ptr<void> owner,
        Connection& on,
        asio::cancellation_slot slot,
        done_function done
    ) override {
        value_.reset();
        asio::co_spawn(
            executor(),
            run(std::move(owner), this->shared_from_this(), on),
            asio::bind_cancellation_slot(slot, asio::bind_executor(executor(), std::move(done)))
        );
    }

    void deliver(std::exception_ptr failure) override {
        auto done = std::move(done_);
        work_.reset();
        auto value = std::move(value_);
        if constexpr (is_void)
            done.complete(std::move(failure));
        else if (failure || !value)
            done.complete(std::move(failure), value_type());
        else
            done.complete(nullptr, std::move(*value));
    }

private:
    static asio::awaitable<void>
    run(std::shared_ptr<void>, std::shared_ptr<typed_transaction_body> self, Connection& on) {
        if constexpr (is_void)
            co_await (*self->work_)(on);
        else
            self->value_.emplace(co_await (*self->work_)(on));
    }

    completion done_;
    std::optional<Work> work_;
    std::optional<std::conditional_t<is_void, nothing, value_type>> value_;
};

}  // namespace mortise::db::detail

#endif
