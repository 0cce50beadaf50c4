// SPDX-License-Identifier: BSL-1.0
#include "sim/remote_link.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <utility>

namespace mortise::sim::detail {
namespace {

constexpr std::chrono::milliseconds reconnect_pause{50};

}  // namespace

remote_link::remote_link(
    process& self, process& server, std::shared_ptr<memory_state> state, clock::duration call_max
)
    : self_(self), server_(server), state_(std::move(state)), call_max_(call_max) {}

void remote_link::attach(
    asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
) {
    strand_ = std::move(strand);
    events_ = &events;
    time_ = std::move(time);
}

remote_link::work<resumed> remote_link::resume_work() {
    // Each push is a message of its own.
    const auto push =
        [weak = weak_from_this(), &client = self_, &server = server_](const store_event& event) {
            send(server, client, [weak, event] {
                if (const auto self = weak.lock())
                    self->push(event);
            });
        };
    return [start = session_, push](memory_state& state) { return state.resume(start, push); };
}

asio::awaitable<result<resumed>> remote_link::open(session_start start) {
    session_ = std::move(start);
    const auto sent = now();
    auto asking = ask<resumed>(resume_work());
    auto reply = co_await std::move(asking);
    connected_ = reply.has_value();
    if (reply)
        reply->sent = sent;
    co_return reply;
}

// Gives up the connection. A call under way may have arrived or not; the server refuses it once it
// has seen the next generation.
void remote_link::break_connection() {
    if (std::exchange(connected_, false))
        reconnect_later({});
}

void remote_link::reconnect_later(clock::duration span) {
    time_->async_wait_until(
        coro::saturating_add(now(), span),
        asio::bind_executor(
            strand_,
            [weak = weak_from_this()](error_code failed) {
                const auto self = weak.lock();
                if (self && !failed && self->events_)
                    asio::co_spawn(self->strand_, self->reconnect(self), asio::detached);
            }
        )
    );
}

asio::awaitable<void> remote_link::reconnect([[maybe_unused]] std::shared_ptr<remote_link> self) {
    ++session_.generation;
    const auto meant = session_.id;
    auto asking = ask<resumed>(resume_work());
    const auto reply = co_await std::move(asking);
    if (!events_ || session_.id != meant)
        co_return;
    store_event event;
    if (reply) {
        connected_ = true;
        tell(event);  // look again
    } else if (reply.error() == errc::session_lost) {
        event.type = store_event::kind::session_lost;
        event.why = errc::session_lost;
        tell(event);
    } else {
        reconnect_later(reconnect_pause);
    }
}

void remote_link::compare_watching(bool at_server) {
    if (!watching_ || at_server)
        return;
    store_event event;
    event.type = store_event::kind::changed;
    tell(event);
}

void remote_link::push(const store_event& event) {
    tell(event);
}

void remote_link::tell(const store_event& event) {
    if (event.type == store_event::kind::changed)
        watching_ = false;
    if (events_)
        events_->on_store_event(event);
}

}  // namespace mortise::sim::detail
