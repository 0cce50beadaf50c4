// SPDX-License-Identifier: BSL-1.0
#include "core/session_fsm.hpp"

#include "core/drift.hpp"
#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::core {

session_timing session_timing::from(const client_config& config) noexcept {
    session_timing timing;
    timing.ttl = config.ttl;
    timing.window = trusted_part(timing.ttl, config.clock_drift_ppm);
    timing.stop_margin = config.stop_margin == std::chrono::milliseconds::zero()
                             ? timing.ttl / 10
                             : clock::duration(config.stop_margin);
    timing.beat_every = timing.ttl / 3;
    timing.retry_every = timing.ttl / 20;
    return timing;
}

void session_fsm::proved(const proof_of_life& proof) noexcept {
    open_ = true;
    // Answers can overtake each other; an older proof must not shorten the window.
    if (proof.sent < sent_)
        return;
    sent_ = proof.sent;
    beat_at_ = sent_ + timing_.beat_every;
    if (proof.base < verified_)
        return;
    verified_ = proof.base;
    deadline_ = verified_ + timing_.window;
    alarm_at_ = deadline_ - timing_.stop_margin;
}

void session_fsm::failed(clock::time_point now) noexcept {
    if (open_)
        beat_at_ = now + timing_.retry_every;
}

void session_fsm::gone() noexcept {
    open_ = false;
    verified_ = sent_ = deadline_ = clock::time_point::min();
    beat_at_ = alarm_at_ = clock::time_point::max();
}

void session_fsm::doubt(clock::time_point now, bool others_wait) noexcept {
    if (!open_)
        return;
    deadline_ = std::min(deadline_, now);
    if (!others_wait && alarm_at_ != clock::time_point::max())
        alarm_at_ = std::min(alarm_at_, now);  // The maximum means: raised already in this window.
    beat_at_ = now;
}

session_fsm::state session_fsm::at(clock::time_point now) const noexcept {
    if (!open_)
        return state::none;
    return now < deadline_ ? state::held : state::unsure;
}

bool session_fsm::take_alarm(clock::time_point now) noexcept {
    if (!open_ || now < alarm_at_)
        return false;
    alarm_at_ = clock::time_point::max();
    return true;
}

}  // namespace mortise::core
