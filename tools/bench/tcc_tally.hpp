// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_TCC_TALLY_HPP
#define MORTISE_TOOLS_BENCH_TCC_TALLY_HPP

#include "bench/interruption.hpp"
#include "mortise/coro/clock.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace mortise::tool {

/// The amount of work: how many at a time, for how long, or how often.
struct tcc_amount {
    unsigned in_flight = 1;
    std::chrono::milliseconds span{0};
    std::uint64_t count = 0;  ///< Zero: as many as the time allows.
};

/// What coroutines that work side by side have done together.
class tcc_tally {
public:
    explicit tcc_tally(const tcc_amount& amount)
        : left_(amount.count != 0 ? amount.count : std::numeric_limits<std::uint64_t>::max()),
          end_(amount.count != 0 ? clock::time_point::max() : clock::now() + amount.span) {}

    /// Whether another one must be started. @throws failure if the measurement is interrupted.
    bool take() {
        interruption::check();
        if (left_ == 0 || clock::now() >= end_)
            return false;
        --left_;
        return true;
    }

    void done(clock::duration took) { took_.push_back(took); }
    void failed() { ++failed_; }

    const std::vector<clock::duration>& took() const noexcept { return took_; }
    std::uint64_t failures() const noexcept { return failed_; }

private:
    std::uint64_t left_;
    clock::time_point end_;
    std::vector<clock::duration> took_;
    std::uint64_t failed_ = 0;
};

}  // namespace mortise::tool

#endif
