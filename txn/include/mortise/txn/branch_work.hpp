// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_BRANCH_WORK_HPP
#define MORTISE_TXN_BRANCH_WORK_HPP

#include "mortise/txn/branch.hpp"
#include "mortise/txn/reply.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace mortise::txn {

namespace asio = boost::asio;

/// Thrown by the work of a branch: it refuses its try for a business reason.
class refusal : public std::runtime_error {
public:
    explicit refusal(const std::string& why) : std::runtime_error(why) {}
};

/// The work of one branch, which its transaction brings along as a closure. It is not written to
/// the log: who takes the transaction over cancels it if it is not decided, and needs no closure to
/// finish it if it is.
///
/// A try that is repeated runs the closure again. At most one of its attempts takes effect.
///
/// @par Threads Any.
class branch_work {
public:
    branch_work() = default;
    branch_work(const branch_work&) = delete;
    branch_work& operator=(const branch_work&) = delete;
    virtual ~branch_work() = default;

    /// That attempt takes effect: its value counts.
    void choose(std::uint32_t attempt);
    /// An attempt takes effect, and nobody knows which: chooses the only one that has come to its
    /// end. @return false if there are several.
    [[nodiscard]] bool choose_only();

protected:
    std::optional<std::uint32_t> chosen() const;
    virtual std::optional<std::uint32_t> only_attempt() const = 0;  // with the mutex held

    mutable std::mutex mutex_;

private:
    std::optional<std::uint32_t> chosen_;
};

namespace detail {

template <class T>
using value_or_nothing = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// A closure that gives a value.
template <class T>
class valued_work : public branch_work {
public:
    using value_type = value_or_nothing<T>;

    std::optional<value_type> value() const {
        const auto attempt = chosen();
        const std::lock_guard hold(mutex_);
        const auto found = attempt ? values_.find(*attempt) : values_.end();
        return found == values_.end() ? std::nullopt : std::optional<value_type>(found->second);
    }

protected:
    void store(std::uint32_t attempt, value_type value) {
        const std::lock_guard hold(mutex_);
        values_.insert_or_assign(attempt, std::move(value));
    }
    std::optional<std::uint32_t> only_attempt() const override {
        return values_.size() == 1 ? std::optional(values_.begin()->first) : std::nullopt;
    }

private:
    std::map<std::uint32_t, value_type> values_;
};

/// A closure that runs on a kind of connection.
template <class Connection>
class connection_work {
public:
    connection_work() = default;
    connection_work(const connection_work&) = delete;
    connection_work& operator=(const connection_work&) = delete;
    virtual ~connection_work() = default;

    virtual asio::awaitable<reply> run(Connection& on, std::uint32_t attempt) = 0;
};

template <class Connection, class T, class Work>
class closure_work final : public valued_work<T>, public connection_work<Connection> {
public:
    explicit closure_work(Work work) : work_(std::move(work)) {}

    // Each attempt has a copy, because an earlier one may still be at work.
    asio::awaitable<reply> run(Connection& on, std::uint32_t attempt) override {
        Work work = work_;
        std::string why;
        try {
            auto working = work(on);
            if constexpr (std::is_void_v<T>) {
                co_await std::move(working);
                this->store(attempt, {});
            } else {
                T value = co_await std::move(working);
                this->store(attempt, std::move(value));
            }
            co_return reply::done();
        } catch (const refusal& refused) {
            why = refused.what();
        }
        co_return reply::refused(std::move(why));
    }

private:
    const Work work_;
};

template <class Awaitable>
struct awaited_type;
template <class T, class Executor>
struct awaited_type<asio::awaitable<T, Executor>> {
    using type = T;
};

}  // namespace detail

/// The value that a branch's closure has given, for who runs the transaction.
template <class T>
class branch_value {
public:
    branch_value(std::shared_ptr<const detail::valued_work<T>> of, branch_number number)
        : of_(std::move(of)), number_(number) {}

    /// The number of the branch, for branches that come after it.
    branch_number number() const noexcept { return number_; }

    /// The value of the attempt that has taken effect; empty unless the branch has voted for the
    /// transaction in this process. It is empty, too, if another transaction with the same key was
    /// first.
    std::optional<detail::value_or_nothing<T>> get() const { return of_->value(); }

private:
    std::shared_ptr<const detail::valued_work<T>> of_;
    branch_number number_;
};

/// A closure on its way into a transaction: see `on_connection`.
template <class T>
class branch_closure {
public:
    explicit branch_closure(std::shared_ptr<detail::valued_work<T>> work)
        : work_(std::move(work)) {}

    const std::shared_ptr<detail::valued_work<T>>& work() const noexcept { return work_; }

private:
    std::shared_ptr<detail::valued_work<T>> work_;
};

/// Makes the work of a branch from `work(Connection&)`, which gives an `asio::awaitable<T>`. It
/// throws `refusal` to refuse. `on_postgres` and `on_mysql` name the connection.
///
/// The closure is copied for each attempt, and may run when its caller has stopped waiting: let it
/// own what it needs.
template <class Connection, class Work>
auto on_connection(Work work) {
    using value =
        typename detail::awaited_type<std::invoke_result_t<std::decay_t<Work>&, Connection&>>::type;
    return branch_closure<value>(
        std::make_shared<detail::closure_work<Connection, value, std::decay_t<Work>>>(std::move(work
        ))
    );
}

}  // namespace mortise::txn

#endif
