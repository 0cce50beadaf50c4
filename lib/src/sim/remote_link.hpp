// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SIM_REMOTE_LINK_HPP
#define MORTISE_SIM_REMOTE_LINK_HPP

#include "mortise/coro/time_source.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/sim/rpc.hpp"
#include "mortise/store.hpp"
#include "store/memory/memory_state.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace mortise::sim::detail {

using mortise::detail::memory_state;

/// The client's end of the link to a simulated lock server: calls with a time limit, one connection
/// after the other, and the events that arrive.
///
/// @par Threads The strand of the client, in its process.
class remote_link final : public std::enable_shared_from_this<remote_link> {
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

    void
    attach(asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source>);
    void detach() noexcept { events_ = nullptr; }

    clock::time_point now() const noexcept { return time_->now(); }
    const session_start& session() const noexcept { return session_; }

    /// Opens the first connection of a session.
    asio::awaitable<result<resumed>> open(session_start start);

    /// Calls the server on the present connection.
    template <class R>
    asio::awaitable<result<R>> call(work<R> job);

    /// As `call`, but without a connection, for calls that belong to no session.
    template <class R>
    asio::awaitable<result<R>> ask(work<R> job);

    /// Notes that the session waits for the next change from now on.
    void begin_to_watch() noexcept { watching_ = true; }
    /// Takes the server's word, from a heartbeat, on whether the session still watches: this finds
    /// a push that got lost.
    void compare_watching(bool at_server);

private:
    void break_connection();
    void reconnect_later(clock::duration span);
    asio::awaitable<void> reconnect(std::shared_ptr<remote_link> self);
    work<resumed> resume_work();
    void push(const store_event& event);
    void tell(const store_event& event);

    process& self_;
    process& server_;
    std::shared_ptr<memory_state> state_;
    const clock::duration call_max_;
    asio::any_io_executor strand_;
    store_events* events_ = nullptr;
    std::shared_ptr<coro::time_source> time_;
    session_start session_;
    bool connected_ = false;
    bool watching_ = false;
};

template <class R>
asio::awaitable<result<R>> remote_link::call(work<R> job) {
    const auto kept = shared_from_this();
    if (!connected_)
        co_return error_code(errc::store_unavailable);
    const auto generation = session_.generation;
    auto asking = ask<R>(std::move(job));
    auto reply = co_await std::move(asking);
    // An error on a connection that is gone says nothing about the session.
    if (generation != session_.generation)
        co_return reply ? reply : result<R>(error_code(errc::outcome_unknown));
    if (!reply && reply.error() == errc::outcome_unknown)
        break_connection();
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
