// SPDX-License-Identifier: BSL-1.0
#include "client/questions.hpp"

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
void questions::ask(answer_handler<T> handler, Call call) {
    if (context_.forked())  // The connection is the parent's.
        return handler.complete(errc::forked, T());
    if (context_.ended())
        return handler.complete(errc::client_stopped, T());
    asio::dispatch(
        context_.strand(),
        [this, kept = context_.keep(), handler = std::move(handler), call = std::move(call)](
        ) mutable {
            context_.spawn(
                run_question<T, Call>(std::move(kept), std::move(handler), std::move(call))
            );
        }
    );
}

template <class T, class Call>
asio::awaitable<void> questions::run_question(
    [[maybe_unused]] std::shared_ptr<const void> kept, answer_handler<T> handler, Call call
) {
    if (context_.stopping()) {
        handler.complete(errc::client_stopped, T());
        co_return;
    }
    auto reply = co_await call(context_.at_store());
    if (reply)
        handler.complete({}, std::move(*reply));
    else
        handler.complete(reply.error(), T());
}

void questions::list(
    std::string after, std::size_t limit, std::size_t queue_max, list_handler handler
) {
    ask(std::move(handler), [after = std::move(after), limit, queue_max](store& at) {
        return at.list(after, limit, queue_max);
    });
}

void questions::inspect(std::string name, std::size_t queue_max, inspect_handler handler) {
    ask(std::move(handler),
        [name = std::move(name), queue_max](store& at) { return at.inspect(name, queue_max); });
}

void questions::break_lock(
    std::string name, fencing_token token, std::string why, break_handler handler
) {
    break_order order;
    order.name = std::move(name);
    order.token = token;
    order.who = whoever(context_.config().label);
    order.why = std::move(why);
    ask(std::move(handler), [order = std::move(order)](store& at) { return at.break_(order); });
}

void questions::break_holders(std::string name, std::string why, break_handler handler) {
    break_order order;
    order.name = std::move(name);
    order.who = whoever(context_.config().label);
    order.why = std::move(why);
    ask(std::move(handler),
        [this, order = std::move(order)](store& at) { return break_each(at, order); });
}

// `run_question` keeps this object alive; a client that has ended must not call the store any
// longer.
asio::awaitable<result<bool>> questions::break_each(store& at, break_order order) {
    const auto seen = co_await at.inspect(order.name, 0);
    if (!seen)
        co_return seen.error();
    if (!seen->has_value())
        co_return false;
    bool broken = false;
    for (const party_view& each : (*seen)->holders) {
        if (context_.stopping() || context_.closed())
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

void questions::is_locked(std::string name, break_handler handler) {
    ask(std::move(handler), [name = std::move(name)](store& at) { return is_held(at, name); });
}

void questions::time_left(std::string name, time_left_handler handler) {
    ask(std::move(handler), [name = std::move(name)](store& at) { return time_left_of(at, name); });
}

void questions::breaks(std::string name, std::size_t limit, breaks_handler handler) {
    ask(std::move(handler),
        [name = std::move(name), limit](store& at) { return at.breaks(name, limit); });
}

void questions::examine(examine_handler handler) {
    ask(std::move(handler), [](store& at) { return at.examine(); });
}

void questions::watch(lease_handler handler) {
    if (context_.forked())
        return handler.complete(errc::forked);
    if (context_.ended())
        return handler.complete(errc::client_stopped);
    // Begin the wait in the initiating call, or a cancellation that follows at once is missed.
    watchers_.add(std::move(handler));
    asio::dispatch(context_.strand(), [this, kept = context_.keep()] { watch_now(); });
}

void questions::watch_now() {
    if (context_.stopping())
        end_watches(errc::client_stopped);
    else if (auto& keeper = core_.sessions.at(0).keeper; !keeper.open())
        keeper.need();
    else if (!std::exchange(watching_, true))
        context_.spawn(run_watch(context_.keep()));
    core_.arm();
}

asio::awaitable<void> questions::run_watch([[maybe_unused]] std::shared_ptr<const void> kept) {
    const auto& keeper = core_.sessions.at(0).keeper;
    const auto epoch = keeper.epoch();
    const error_code failed = co_await context_.at_store().watch();
    if (!keeper.is_current(epoch) || !failed)
        co_return;
    watching_ = false;
    end_watches(failed);
}

void questions::changed() {
    watching_ = false;
    end_watches({});
}

}  // namespace mortise::detail
