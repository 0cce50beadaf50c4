// SPDX-License-Identifier: BSL-1.0
#include "client/client_core.hpp"
#include "client/who_am_i.hpp"

#include <boost/asio/dispatch.hpp>

#include <algorithm>
#include <utility>

namespace mortise::detail {

namespace {

asio::awaitable<result<bool>> is_held(store& at, std::string name) {
    const auto seen = co_await at.inspect(std::move(name), 0);
    if (!seen)
        co_return seen.error();
    co_return seen->has_value() && !(*seen)->holders.empty();
}

asio::awaitable<result<std::optional<clock::duration>>> time_left_of(store& at, std::string name) {
    const auto seen = co_await at.inspect(std::move(name), 0);
    if (!seen)
        co_return seen.error();
    std::optional<clock::duration> longest;
    if (!seen->has_value())
        co_return longest;
    for (const party_view& each : (*seen)->holders)
        longest = std::max(longest.value_or(clock::duration::min()), each.left);
    co_return longest;
}

}  // namespace

// Makes one call of the store that changes nothing in this client. `call` runs on the strand.
template <class T, class Call>
void client_core::question(answer_handler<T> handler, Call call) {
    if (*context_ended_)
        return handler.complete(errc::client_stopped, T());
    asio::dispatch(
        *strand_,
        [self = shared_from_this(), handler = std::move(handler), call = std::move(call)](
        ) mutable { self->spawn(run_question<T, Call>(self, std::move(handler), std::move(call))); }
    );
}

template <class T, class Call>
asio::awaitable<void>
client_core::run_question(std::shared_ptr<client_core> self, answer_handler<T> handler, Call call) {
    if (self->stopping_) {
        handler.complete(errc::client_stopped, T());
        co_return;
    }
    auto reply = co_await call(*self->store_);
    if (reply)
        handler.complete({}, std::move(*reply));
    else
        handler.complete(reply.error(), T());
}

void client_core::list(
    std::string after, std::size_t limit, std::size_t queue_max, list_handler handler
) {
    question(std::move(handler), [after = std::move(after), limit, queue_max](store& at) {
        return at.list(after, limit, queue_max);
    });
}

void client_core::inspect(std::string name, std::size_t queue_max, inspect_handler handler) {
    question(std::move(handler), [name = std::move(name), queue_max](store& at) {
        return at.inspect(name, queue_max);
    });
}

void client_core::break_lock(
    std::string name, fencing_token token, std::string why, break_handler handler
) {
    break_order order;
    order.name = std::move(name);
    order.token = token;
    order.who = whoever(config_.label);
    order.why = std::move(why);
    question(std::move(handler), [order = std::move(order)](store& at) {
        return at.break_(order);
    });
}

void client_core::break_holders(std::string name, std::string why, break_handler handler) {
    break_order order;
    order.name = std::move(name);
    order.who = whoever(config_.label);
    order.why = std::move(why);
    question(std::move(handler), [this, order = std::move(order)](store& at) {
        return break_each(at, order);
    });
}

// `run_question` keeps this object alive; a client that has ended must not call the store any
// longer.
asio::awaitable<result<bool>> client_core::break_each(store& at, break_order order) {
    const auto seen = co_await at.inspect(order.name, 0);
    if (!seen)
        co_return seen.error();
    if (!seen->has_value())
        co_return false;
    bool broken = false;
    for (const party_view& each : (*seen)->holders) {
        if (stopping_ || closed_)
            co_return error_code(errc::client_stopped);
        if (each.token == order.token)
            continue;  // Holders that share a token are broken together.
        order.token = each.token;
        const auto reply = co_await at.break_(order);
        if (!reply)
            co_return reply.error();
        broken = broken || *reply;
    }
    co_return broken;
}

void client_core::is_locked(std::string name, break_handler handler) {
    question(std::move(handler), [name = std::move(name)](store& at) { return is_held(at, name); });
}

void client_core::time_left(std::string name, time_left_handler handler) {
    question(std::move(handler), [name = std::move(name)](store& at) {
        return time_left_of(at, name);
    });
}

void client_core::breaks(std::string name, std::size_t limit, breaks_handler handler) {
    question(std::move(handler), [name = std::move(name), limit](store& at) {
        return at.breaks(name, limit);
    });
}

void client_core::examine(examine_handler handler) {
    question(std::move(handler), [](store& at) { return at.examine(); });
}

void client_core::watch(lease_handler handler) {
    if (*context_ended_)
        return handler.complete(errc::client_stopped);
    // Begin the wait in the initiating call, or a cancellation that follows at once is missed.
    watchers_.add(std::move(handler));
    asio::dispatch(*strand_, [self = shared_from_this()] { self->watch_now(); });
}

void client_core::watch_now() {
    if (stopping_)
        watchers_.complete_all(errc::client_stopped);
    else if (!session_.open())
        need_session();
    else if (!std::exchange(watching_, true))
        spawn(run_watch(shared_from_this()));
    arm();
}

asio::awaitable<void> client_core::run_watch([[maybe_unused]] std::shared_ptr<client_core> self) {
    const auto epoch = epoch_;
    const error_code result = co_await store_->watch();
    if (epoch != epoch_ || closed_ || !result)
        co_return;
    watching_ = false;
    watchers_.complete_all(result);
}

// Completes all watchers, because a lock changed or may have: they look for themselves.
void client_core::changed() {
    watching_ = false;
    watchers_.complete_all({});
}

}  // namespace mortise::detail
