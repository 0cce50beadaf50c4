// SPDX-License-Identifier: BSL-1.0
#include "sim/remote_link.hpp"

#include <chrono>
#include <utility>

namespace mortise::sim::detail {
namespace {

// The first attempt follows at once, so that a lost message costs its time limit and no more.
clock::duration reconnect_pause(std::uint32_t attempt) noexcept {
    return attempt == 0 ? std::chrono::milliseconds(0) : std::chrono::milliseconds(50);
}

}  // namespace

remote_link::remote_link(
    process& self, process& server, std::shared_ptr<memory_state> state, clock::duration call_max
)
    : session_link(&reconnect_pause),
      self_(self),
      server_(server),
      state_(std::move(state)),
      call_max_(call_max) {}

asio::awaitable<result<resumed>> remote_link::prove() {
    const auto sent = now();
    const work<resumed> resume = [start = session(), push = pushes()](memory_state& state) {
        return state.resume(start, push);
    };
    auto asking = ask<resumed>(resume);
    auto reply = co_await std::move(asking);
    if (reply)
        reply->sent = sent;
    co_return reply;
}

// Each push is a message of its own.
memory_state::push_function remote_link::pushes() {
    const std::weak_ptr weak(std::static_pointer_cast<remote_link>(shared_from_this()));
    return [weak, &client = self_, &server = server_](const store_event& event) {
        send(server, client, [weak, event] {
            if (const auto self = weak.lock())
                self->tell_now(event);
        });
    };
}

}  // namespace mortise::sim::detail
