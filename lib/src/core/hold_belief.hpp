// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_CORE_HOLD_BELIEF_HPP
#define MORTISE_CORE_HOLD_BELIEF_HPP

#include "mortise/coro/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mortise::core {

/// Until when a holder may believe in a grant that ends by itself, while that end is set anew by
/// calls whose answers come late or never.
///
/// The store makes the calls in their order. So the answer to a call says what has become of the
/// earlier ones, too; a later one without an answer may have been made already, and the earliest of
/// all ends that may be true counts. No clock, no I/O.
class hold_belief {
public:
    struct moment {
        clock::time_point end = clock::time_point::max();
        clock::time_point alarm = clock::time_point::max();  ///< When the holder must be warned.
    };

    hold_belief() = default;
    explicit hold_belief(moment first) noexcept : known_(first) {}

    /// A call is sent that sets this end. @return its number
    std::uint64_t sent(moment end) {
        open_.push_back({++count_, end});
        return count_;
    }
    /// The store has made that call.
    void applied(std::uint64_t number) {
        for (const auto& each : open_) {
            if (each.number == number)
                known_ = each.to;
        }
        std::erase_if(open_, [number](const auto& each) { return each.number <= number; });
    }
    /// It has not made it, and will not.
    void not_applied(std::uint64_t number) {
        std::erase_if(open_, [number](const auto& each) { return each.number == number; });
    }
    /// The store shows an earlier end than it had promised.
    void shown(moment end) noexcept { known_ = earlier(known_, end); }

    moment ends() const noexcept {
        moment first = known_;
        for (const auto& each : open_)
            first = earlier(first, each.to);
        return first;
    }

private:
    struct call {
        std::uint64_t number;
        moment to;
    };

    static moment earlier(moment one, moment other) noexcept {
        return other.end < one.end ? other : one;
    }

    moment known_;
    std::vector<call> open_;
    std::uint64_t count_ = 0;
};

}  // namespace mortise::core

#endif
