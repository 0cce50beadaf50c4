// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_JUDGE_HPP
#define MORTISE_TESTS_STORM_JUDGE_HPP

#include "storm/blow.hpp"
#include "storm/record.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mortise::storm {

/// Quantiles of a set of durations.
struct spread {
    std::uint64_t count = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double max_ms = 0;
};
spread spread_of(std::vector<std::int64_t> nanoseconds);

/// The findings in the logs of a storm.
struct judgement {
    judgement() = default;

    std::uint64_t grants = 0;
    std::uint64_t busy = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t store_away = 0;
    std::uint64_t held_when_cut_off = 0;
    std::uint64_t failed = 0;
    std::int32_t failed_code = 0;  ///< The code of the last failure.
    std::uint64_t lost = 0;
    std::uint64_t cut_off = 0;  ///< Wishes whose process was killed while it waited or held.

    /// Pairs of leases that exclude each other and both said "held" at the same moment.
    std::uint64_t overlaps = 0;
    /// Leases whose token was below an earlier one, or equal to one although not both are shared.
    std::uint64_t falling_tokens = 0;
    std::uint64_t held_though_refused = 0;
    std::string first_finding;  ///< The first finding of these three kinds.

    /// From a release to the grant of the next writer, which waited. Counted only if no waiter was
    /// stopped or killed meanwhile.
    spread hand_off;
    /// From the death of a writer to the next grant, unless a waiter was stopped meanwhile. For
    /// `after_stop`: from a stop of a writer that outlasts its TTL, whether or not others were
    /// stopped.
    spread after_kill;
    spread after_stop;
};

/// `process`, `lock` and `slot` of the records may have any value. Records of process zero were
/// never written.
judgement
judge(std::span<const record> records, std::span<const blow> blows, std::chrono::nanoseconds ttl);

}  // namespace mortise::storm

#endif
