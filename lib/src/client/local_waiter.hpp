// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CLIENT_LOCAL_WAITER_HPP
#define MORTISE_CLIENT_LOCAL_WAITER_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/lease.hpp"
#include "mortise/options.hpp"

#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

namespace mortise::detail {

class claim;
class client_core;
class held_grant;
class lock_queue;

/// One acquire that has not completed yet: its wish, its handler, and its place in a list.
///
/// All members but `listen` and `complete` are guarded by the mutex of the client's lock table.
class local_waiter : public std::enable_shared_from_this<local_waiter> {
public:
    using acquire_handler = coro::detail::completion<void(error_code, lease)>;
    using try_handler = coro::detail::completion<void(error_code, std::optional<lease>)>;
    using handler_type = std::variant<acquire_handler, try_handler>;

    local_waiter(
        std::weak_ptr<client_core> owner, lock_options wish, bool may_queue, handler_type then
    )
        : options(wish), queues(may_queue), owner_(std::move(owner)), handler_(std::move(then)) {}

    /// Connects the handler's cancellation slot. Must be called in the initiating call.
    void listen();

    /// Posts the handler with `code` and `granted`; for a try, `busy` is an empty success.
    /// Not under the mutex: an executor whose context has ended destroys the handler at once.
    void complete();

    const lock_options options;
    const bool queues;       ///< Whether it may wait; if not, it is refused instead.
    bool held_here = false;  ///< It was refused while another lease of this client held the lock.

    std::shared_ptr<lock_queue> of;  ///< Set from its arrival to its completion.
    bool stands = false;             ///< Whether it waits, in one list or another.
    claim* bound = nullptr;          ///< The claim in whose list it stands; null in the queue's.
    bool decided = false;            ///< Whether `code` is its final result.
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

}  // namespace mortise::detail

#endif
