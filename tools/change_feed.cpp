// SPDX-License-Identifier: BSL-1.0
#include "change_feed.hpp"

#include "mortise/coro/event.hpp"

#include <boost/asio/bind_executor.hpp>

#include <utility>

namespace mortise::tool {

struct change_feed::state {
    explicit state(const asio::any_io_executor& executor) : woken(executor) {}

    coro::event woken;
    error_code failed;
    bool waiting = false;  ///< The client has an `async_watch` under way.
};

change_feed::change_feed(asio::any_io_executor executor)
    : state_(std::make_shared<state>(std::move(executor))) {}

change_feed::~change_feed() = default;

void change_feed::begin(lock_client& locks) {
    state_->woken.reset();
    if (std::exchange(state_->waiting, true))
        return;
    locks.async_watch(asio::bind_executor(
        state_->woken.get_executor(),
        [kept = state_](const error_code& code) {
            kept->waiting = false;
            kept->failed = code;
            kept->woken.set();
        }
    ));
}

asio::awaitable<void> change_feed::next() {
    co_await state_->woken.async_wait();
    if (state_->failed)
        throw boost::system::system_error(state_->failed);
}

void change_feed::poke() {
    state_->woken.set();
}

void change_feed::on_event(const lock_event& event) noexcept {
    if (event.what == lock_event::kind::session_opened)
        state_->woken.set();
}

}  // namespace mortise::tool
