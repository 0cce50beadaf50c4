// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_REMOTE_LINK_HPP
#define MORTISE_SIM_REMOTE_LINK_HPP

#include "mortise/sim/process.hpp"
#include "mortise/sim/rpc.hpp"
#include "store/link/session_link.hpp"
#include "store/memory/memory_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace mortise::sim::detail {

using mortise::detail::memory_state;

/// The link to a simulated lock server: calls with a time limit, and the events that arrive. There
/// is nothing to open and to close: a connection is a generation of the session.
///
/// @par Threads The strand of the client, in its process.
class remote_link final : public store_detail::session_link {
public:
    /// The work of a call at the server; it may be done twice.
    template <class R>
    using work = std::function<result<R>(memory_state&)>;

    remote_link(
        process& self,
        process& server,
        std::shared_ptr<memory_state> state,
        clock::duration call_max
    );

    /// Calls the server on the present connection.
    template <class R>
    asio::awaitable<result<R>> call(work<R> job);

    /// As `call`, but without a connection, for calls that belong to no session.
    template <class R>
    asio::awaitable<result<R>> ask(work<R> job);

private:
    asio::awaitable<error_code> open_connection() override { co_return error_code(); }
    asio::awaitable<result<resumed>> prove() override;
    void close_connection() noexcept override {}

    memory_state::push_function pushes();

    process& self_;
    process& server_;
    std::shared_ptr<memory_state> state_;
    const clock::duration call_max_;
};

template <class R>
asio::awaitable<result<R>> remote_link::call(work<R> job) {
    const auto kept = shared_from_this();
    const auto used = connection();
    if (used == 0)
        co_return error_code(errc::store_unavailable);
    auto asking = ask<R>(std::move(job));
    auto reply = co_await std::move(asking);
    if (reply)
        co_return reply;
    if (!is_current(used))
        co_return error_code(errc::outcome_unknown);
    // The call may have arrived or not; the server refuses it once it has seen the next generation.
    if (reply.error() == errc::outcome_unknown)
        replace_connection();
    co_return reply;
}

template <class R>
asio::awaitable<result<R>> remote_link::ask(work<R> job) {
    std::function<result<R>()> there = [state = state_, job = std::move(job)] {
        return job(*state);
    };
    return rpc<R>(self_, server_, std::move(there), call_max_);
}

}  // namespace mortise::sim::detail

#endif
