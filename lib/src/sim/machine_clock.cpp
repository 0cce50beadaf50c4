// SPDX-License-Identifier: BSL-1.0
#include "sim/machine_clock.hpp"

#include <algorithm>

namespace mortise::sim::detail {
namespace {

constexpr std::int64_t million = 1'000'000;

// 128 bits, because days of nanoseconds are multiplied by a million.
__extension__ using wide = __int128;

}  // namespace

machine_clock::machine_clock(clock::time_point true_now, clock::time_point shows)
    : since_(true_now), origin_(shows) {}

clock::time_point machine_clock::shows(clock::time_point true_now) const noexcept {
    const wide passed = (true_now - since_).count();
    return origin_ + clock::duration(static_cast<clock::rep>(passed * (million + rate_) / million));
}

std::optional<clock::time_point> machine_clock::when(clock::time_point local) const noexcept {
    const wide left = std::max<clock::rep>((local - origin_).count(), 0);
    const wide pace = million + rate_;
    // Round up, so that the clock has reached `local` at that true time.
    const wide until = (left * million + pace - 1) / pace;
    if (until > clock::duration::max().count() / 2)
        return std::nullopt;
    return since_ + clock::duration(static_cast<clock::rep>(until));
}

void machine_clock::set_rate(std::int32_t ppm, clock::time_point true_now) noexcept {
    origin_ = shows(true_now);
    since_ = true_now;
    rate_ = std::clamp<std::int32_t>(ppm, -900'000, 9'000'000);
}

}  // namespace mortise::sim::detail
