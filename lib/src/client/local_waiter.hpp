// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_LOCAL_WAITER_HPP
#define MORTISE_CLIENT_LOCAL_WAITER_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/lease.hpp"
#include "mortise/options.hpp"

#include <boost/asio/cancellation_type.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mortise::detail {

class claim;
class client_core;
class held_grant;
class lock_queue;

/// One acquire that has not completed yet: its options, its handler, and its place in a list.
///
/// All members but `listen` and `complete` are guarded by the mutex of the client's lock table.
class local_waiter : public std::enable_shared_from_this<local_waiter> {
public:
    using acquire_handler = coro::detail::completion<void(error_code, lease)>;
    using try_handler = coro::detail::completion<void(error_code, std::optional<lease>)>;
    using handler_type = std::variant<acquire_handler, try_handler>;

    local_waiter(
        std::weak_ptr<client_core> owner, lock_options wanted, bool may_queue, handler_type then
    )
        : options(wanted), queues(may_queue), owner_(std::move(owner)), handler_(std::move(then)) {}

    /// Connects the handler's cancellation slot. Must be called in the initiating call.
    void listen();

    /// Posts the handler with `code` and `granted`; for a try, `busy` is an empty success.
    /// Not under the mutex: an executor whose context has ended destroys the handler at once.
    void complete();

    const lock_options options;
    const bool queues;       ///< Whether it may wait; if not, it is refused instead.
    bool held_here = false;  ///< It was refused while another lease of this client held the lock.

    std::shared_ptr<const std::string> lock_name;  ///< Null before its arrival.
    std::weak_ptr<lock_queue> queue;               ///< Alive as long as the waiter stands.
    bool stands = false;                           ///< Whether it waits, in one list or another.
    claim* bound = nullptr;  ///< The claim in whose list it stands; null in the queue's.
    bool decided = false;    ///< Whether `code` is its final result.
    error_code code;
    std::shared_ptr<held_grant> granted;
    clock::time_point since;
    std::optional<std::pair<clock::time_point, std::uint64_t>> deadline;

    // Links of the list that it stands in.
    std::shared_ptr<local_waiter> self;
    local_waiter* before = nullptr;
    local_waiter* after = nullptr;

private:
    std::weak_ptr<client_core> owner_;
    handler_type handler_;  // holds nothing once completed
};

/// Waiters in the order of their arrival; linked through themselves, so that leaving costs nothing.
class waiter_list {
public:
    waiter_list() = default;
    waiter_list(waiter_list&& other) noexcept { swap(other); }
    waiter_list& operator=(waiter_list&& other) noexcept {
        waiter_list taken(std::move(other));
        swap(taken);
        return *this;
    }
    ~waiter_list() {
        while (!empty())
            pop();
    }

    bool empty() const noexcept { return first_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    local_waiter* first() const noexcept { return first_; }
    local_waiter& front() const noexcept { return *first_; }

    void push(std::shared_ptr<local_waiter> waiter) noexcept {
        local_waiter* const it = waiter.get();
        it->before = last_;
        it->after = nullptr;
        (last_ != nullptr ? last_->after : first_) = it;
        last_ = it;
        ++size_;
        it->self = std::move(waiter);
    }

    std::shared_ptr<local_waiter> pop() noexcept { return remove(*first_); }

    std::shared_ptr<local_waiter> remove(local_waiter& it) noexcept {
        (it.before != nullptr ? it.before->after : first_) = it.after;
        (it.after != nullptr ? it.after->before : last_) = it.before;
        it.before = it.after = nullptr;
        --size_;
        return std::move(it.self);
    }

private:
    void swap(waiter_list& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(size_, other.size_);
    }

    local_waiter* first_ = nullptr;
    local_waiter* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace mortise::detail

#endif
