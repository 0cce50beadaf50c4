// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_DETAIL_TRANSACTION_BODY_HPP
#define MORTISE_DB_DETAIL_TRANSACTION_BODY_HPP

#include "mortise/coro/detail/completion.hpp"
#include "mortise/db/prepared_transaction.hpp"

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

class server_transaction;

/// Something that is destroyed when the context of the caller ends: a handler, a closure.
class caller_share {
public:
    virtual ~caller_share() = default;
    /// Destroys the handler. What a frame of the caller refers to stays until that frame is gone.
    virtual void let_go() noexcept = 0;
};

/// The closure of a transaction, and who waits for its end, without their types.
class transaction_body : public caller_share {
public:
    using done_function = std::function<void(std::exception_ptr)>;

    /// The executor of the caller, on which the closure runs.
    virtual const asio::any_io_executor& executor() const noexcept = 0;
    /// The slot of the caller. Call it once, in the initiating call.
    virtual asio::cancellation_slot release_slot() noexcept = 0;
    /// Runs the closure and calls `done` at its end. Keeps the transaction alive until the
    /// closure's frame is gone. Call it on `executor()`.
    virtual void start(std::shared_ptr<server_transaction> transaction, done_function done) = 0;
    /// Sends the running closure a signal, which it hears whatever it waits for. Call it on
    /// `executor()`.
    virtual void stop() = 0;
    /// Under which name it can be prepared; empty: it is committed.
    virtual prepared_name name() const { return {}; }
    /// Whether the transaction is to be prepared, as the closure has told at its end.
    virtual bool prepares() const noexcept { return false; }
    /// Hears that it was.
    virtual void note_prepared() noexcept {}
    /// Destroys the closure.
    virtual void finish() noexcept = 0;
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
class typed_transaction_body
    : public transaction_body,
      public std::enable_shared_from_this<typed_transaction_body<Connection, Work>> {
protected:
    using value_type = typename std::invoke_result_t<Work&, Connection&>::value_type;

private:
    static constexpr bool is_void = std::is_void_v<value_type>;
    struct nothing {};

public:
    using signature = typename transaction_signature<value_type>::type;
    using completion = coro::detail::completion<signature>;

    typed_transaction_body(completion done, Work&& work)
        : done_(std::move(done)), work_(std::move(work)) {}

    // The closure's frame keeps this object, and with it the frame of the caller, which it may
    // refer to.
    void let_go() noexcept override {}

    const asio::any_io_executor& executor() const noexcept override { return done_.get_executor(); }
    asio::cancellation_slot release_slot() noexcept override { return done_.release_slot(); }

    void start(std::shared_ptr<server_transaction> transaction, done_function done) override {
        value_.reset();
        asio::co_spawn(
            executor(),
            run(std::move(transaction), this->shared_from_this()),
            asio::bind_cancellation_slot(
                stop_.slot(), asio::bind_executor(executor(), std::move(done))
            )
        );
    }

    void stop() override { stop_.emit(asio::cancellation_type::terminal); }
    void finish() noexcept override { work_.reset(); }

    void deliver(std::exception_ptr failure) override {
        auto done = std::move(done_);
        auto value = take_value();
        if constexpr (is_void)
            done.complete(std::move(failure));
        else if (failure || !value)
            done.complete(std::move(failure), value_type());
        else
            done.complete(nullptr, std::move(*value));
    }

protected:
    using kept_value = std::optional<std::conditional_t<is_void, nothing, value_type>>;
    /// The value of the last run, if it has ended well.
    const kept_value& value() const noexcept { return value_; }
    /// What the caller gets.
    virtual kept_value take_value() { return std::move(value_); }

private:
    static asio::awaitable<void>
    run(std::shared_ptr<server_transaction> transaction,
        std::shared_ptr<typed_transaction_body> self) {
        Connection on(*transaction, self->executor());
        if constexpr (is_void)
            co_await (*self->work_)(on);
        else
            self->value_.emplace(co_await (*self->work_)(on));
    }

    completion done_;
    std::optional<Work> work_;
    kept_value value_;
    asio::cancellation_signal stop_;
};

/// A closure that tells whether its transaction is to be prepared, for a caller who is told whether
/// it was.
template <class Connection, class Work>
class preparing_body final : public typed_transaction_body<Connection, Work> {
    using base = typed_transaction_body<Connection, Work>;
    static_assert(
        std::is_same_v<typename base::value_type, bool>, "the closure gives an awaitable<bool>"
    );

public:
    preparing_body(typename base::completion done, Work&& work, prepared_name name)
        : base(std::move(done), std::move(work)), name_(std::move(name)) {}

    prepared_name name() const override { return name_; }
    bool prepares() const noexcept override { return this->value().value_or(false); }
    void note_prepared() noexcept override { prepared_ = true; }

protected:
    typename base::kept_value take_value() override { return prepared_; }

private:
    const prepared_name name_;
    bool prepared_ = false;
};

}  // namespace mortise::db::detail

#endif
