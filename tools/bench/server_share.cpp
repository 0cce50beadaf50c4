// SPDX-License-Identifier: BSL-1.0
#include "bench/server_share.hpp"

#include <algorithm>

namespace mortise::tool {

void server_share::begin(bool connected) {
    if (meter_)
        before_ = meter_->counts(connected);
}

void server_share::end(bool connected) {
    if (!before_)
        return;
    if (const auto now = meter_->counts(connected)) {
        sum_ += *now - *before_;
        known_ = true;
    }
    before_.reset();
}

std::optional<server_counts> server_share::total() const noexcept {
    return known_ ? std::optional(sum_) : std::nullopt;
}

void server_share::report(bench_report& into, std::uint64_t locks, std::uint64_t heartbeats) const {
    if (!meter_)
        return;
    const auto each = [&](std::optional<std::uint64_t> all) {
        return known_ && all && locks != 0
                   ? std::optional(static_cast<double>(*all) / static_cast<double>(locks))
                   : std::nullopt;
    };
    std::optional<std::uint64_t> asked = sum_.commands;
    if (asked && meter_->counts_heartbeats())
        *asked -= std::min(*asked, heartbeats);
    into.add("commands_per_lock", each(asked), 3, "the server counts them; without heartbeats");
    into.add("bytes_sent_per_lock", each(sum_.bytes), 1, "to the server, which counts them");
}

}  // namespace mortise::tool
