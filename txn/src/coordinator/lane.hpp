// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_COORDINATOR_LANE_HPP
#define MORTISE_TXN_COORDINATOR_LANE_HPP

#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mortise::txn::detail {

/// Limits the calls of one participant: many at a time while it answers, else one at a time with
/// pauses between (a circuit breaker). No clock, no I/O.
class lane {
public:
    lane(std::size_t calls_max, std::uint32_t failures_max, clock::duration pause) noexcept
        : calls_max_(calls_max), failures_max_(failures_max), pause_(pause) {}

    bool may_call(clock::time_point now) const noexcept {
        return broken() ? calls_ == 0 && now >= probe_at_ : calls_ < calls_max_;
    }

    /// When to ask `may_call` again if it says no now; `max()`: when a call has ended.
    clock::time_point next(clock::time_point now) const noexcept {
        return broken() && calls_ == 0 ? std::max(probe_at_, now) : clock::time_point::max();
    }

    void begin() noexcept { ++calls_; }

    void answered() noexcept {
        --calls_;
        failures_ = 0;
    }

    void failed(clock::time_point now) noexcept {
        --calls_;
        if (++failures_ >= failures_max_)
            probe_at_ = now + pause_;
    }

    /// Closes the breaker: the participant is known to answer again, or must be tried at once.
    void mend() noexcept { failures_ = 0; }

    /// Ends a call that nobody waits for any longer.
    void given_up() noexcept { --calls_; }

    bool broken() const noexcept { return failures_ >= failures_max_; }

private:
    std::size_t calls_max_;
    std::uint32_t failures_max_;
    clock::duration pause_;
    std::size_t calls_ = 0;
    std::uint32_t failures_ = 0;
    clock::time_point probe_at_;
};

}  // namespace mortise::txn::detail

#endif
