// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_RPC_HPP
#define MORTISE_SIM_RPC_HPP

#include "mortise/coro/detail/callable_check.hpp"
#include "mortise/coro/detail/completion.hpp"
#include "mortise/coro/detail/initiate.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "mortise/sim/process.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace mortise::sim {

namespace detail {

/// Sends one message; see `network::send`.
void send(const process& from, process& to, std::function<void()> arrive);

/// A call that waits for its answer.
template <class R>
class rpc_call {
public:
    explicit rpc_call(coro::detail::completion<void(result<R>)> done) : done_(std::move(done)) {}

    /// The first answer counts.
    void answer(result<R> reply) {
        if (done_)
            std::exchange(done_, {}).complete(std::move(reply));
    }

private:
    coro::detail::completion<void(result<R>)> done_;
};

template <class R>
void start_rpc(
    coro::detail::completion<void(result<R>)> done,
    process* from,
    process* to,
    std::function<result<R>()> work,
    clock::duration wait_max
) {
    const auto call = std::make_shared<rpc_call<R>>(std::move(done));
    // Weak, because messages outlive the lives of processes and must not keep a waiting call alive.
    const std::weak_ptr<rpc_call<R>> waits = call;
    send(*from, *to, [from, to, work = std::move(work), waits] {
        const result<R> reply = work();
        send(*to, *from, [waits, reply] {
            if (const auto waiting = waits.lock())
                waiting->answer(reply);
        });
    });
    const auto time = from->time();
    time->async_wait_until(
        coro::saturating_add(time->now(), wait_max),
        asio::bind_executor(
            from->get_executor(),
            [call](error_code) { call->answer(error_code(errc::outcome_unknown)); }
        )
    );
}

template <class R>
asio::awaitable<result<R>>
run_rpc(process& from, process& to, std::function<result<R>()> work, clock::duration wait_max) {
    auto running = coro::detail::async_start<void(result<R>)>(
        from.get_executor(),
        asio::deferred,
        &detail::start_rpc<R>,
        &from,
        &to,
        std::move(work),
        wait_max
    );
    co_return co_await std::move(running);
}

}  // namespace detail

/// Runs `work` in process `to` and brings back its result, by two messages. It may run twice, or
/// late, or never.
///
/// @par Errors       `outcome_unknown` if no answer came within `wait_max` of the caller's clock,
///                   and the codes that `work` returns.
/// @par Cancellation none.
/// @par Threads      The world's; awaited in `from`, which lives.
/// @par Lifetimes    All that `work` refers to must live as long as the world. g++ 12 refuses a
///                   temporary lambda that owns something (docs/coroutine-traps.md).
template <class R, class Work>
    requires std::convertible_to < Work, std::function < result<R>()
>> asio::awaitable<result<R>>
    rpc(process& from, process& to, Work&& work, clock::duration wait_max) {
    coro::detail::refuse_owning_work<Work, asio::awaitable<result<R>>>();
    return detail::run_rpc<R>(from, to, std::forward<Work>(work), wait_max);
}

}  // namespace mortise::sim

#endif
