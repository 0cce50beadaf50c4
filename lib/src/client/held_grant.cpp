// SPDX-License-Identifier: BSL-1.0
#include "client/held_grant.hpp"

#include <utility>

namespace mortise::detail {

held_grant::held_grant(
    grant at_store,
    std::shared_ptr<session_watch> session,
    std::weak_ptr<client_core> owner,
    asio::any_io_executor executor
) noexcept
    : at_store_(std::move(at_store)),
      session_(std::move(session)),
      owner_(std::move(owner)),
      executor_(std::move(executor)) {}

// The deadline is read before the phase and the clock after both: the client marks the grants of a
// lost session before it publishes the deadline of the next one, so that a thread which was paused
// between the reads never takes the new session's deadline for the old one's.
lease_state held_grant::state() const noexcept {
    const clock::time_point deadline = session_->deadline();
    switch (phase_.load(std::memory_order_acquire)) {
    case phase::released:
        return lease_state::released;
    case phase::lost:
        return lease_state::lost;
    case phase::live:
        break;
    }
    if (session_->forked())
        return lease_state::lost;
    return session_->now() < deadline ? lease_state::held : lease_state::unsure;
}

error_code held_grant::check() const noexcept {
    if (session_->forked())
        return errc::forked;
    switch (state()) {
    case lease_state::held:
        return {};
    case lease_state::unsure:
        return errc::lease_expired;
    case lease_state::lost:
        return why_.load(std::memory_order_relaxed);
    case lease_state::released:
        break;
    }
    return errc::lease_released;
}

bool held_grant::take_for_release() noexcept {
    phase expected = phase::live;
    return phase_.compare_exchange_strong(expected, phase::released);
}

bool held_grant::lose(errc why) {
    why_.store(why, std::memory_order_relaxed);
    phase expected = phase::live;
    const bool news = phase_.compare_exchange_strong(expected, phase::lost);
    waiters_.complete_all(why);
    return news;
}

void held_grant::lose_silently(errc why) noexcept {
    why_.store(why, std::memory_order_relaxed);
    phase expected = phase::live;
    phase_.compare_exchange_strong(expected, phase::lost);
}

void held_grant::end_waiting(error_code why) {
    waiters_.complete_all(why);
}

void held_grant::wait_lost(lease_handler handler) {
    waiters_.add(std::move(handler));
}

}  // namespace mortise::detail
