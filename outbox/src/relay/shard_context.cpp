// SPDX-License-Identifier: BSL-1.0
#include "relay/shard_context.hpp"

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/sleep.hpp"
#include "mortise/outbox/error.hpp"

#include <utility>

namespace mortise::outbox::detail {

shard_context::shard_context(relay_context& of, std::uint32_t shard)
    : relay(of),
      number(shard),
      sink(of.config().sink(of.strand(), shard)),
      news(of.strand()),
      pauses_({of.config().retry_first, of.config().retry_max}, of.draw_seed()) {
    if (!sink)
        throw error(mortise::errc::bad_config, "sink", "have the factory make one for each shard");
    status.shard = number;
    relay.show(status);
}

clock::time_point shard_context::now() const {
    return relay.time().now();
}

void shard_context::set(shard_status::state now) {
    if (std::exchange(status.at, now) != now)
        relay.show(status);
}

void shard_context::tell(relay_event::kind type, error_code why, std::string text) {
    relay_event event;
    event.type = type;
    event.shard = number;
    event.row = known.last.row;
    event.code = why;
    event.text = std::move(text);
    relay.tell(event);
}

void shard_context::fail(error_code why, std::string text) {
    status.trouble = why;
    status.text = text.empty() ? why.message() : text;
    relay.show(status);
    tell(relay_event::kind::failed, why, std::move(text));
}

asio::awaitable<void> shard_context::rest(clock::duration longest) {
    coro::detail::alarm up;  // Destroyed with this wait, also when the wait is cancelled.
    if (longest != clock::duration::max())
        up.set(relay.time(), relay.strand(), now() + longest, [this] { news.set(); });
    co_await news.async_wait();
}

asio::awaitable<void> shard_context::pause_after(error_code why, std::string text) {
    fail(why, std::move(text));
    if (relay.stopping())
        co_return;  // After a stop, a signal may no longer arrive to end the sleep.
    co_await coro::sleep_for(relay.time(), pauses_.next());
}

}  // namespace mortise::outbox::detail
