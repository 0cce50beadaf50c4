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

/// Of some durations.
struct spread {
    std::uint64_t count = 0;
    double p50_ms = 0;
    double p99_ms = 0;
    double max_ms = 0;
};
spread spread_of(std::vector<std::int64_t> nanoseconds);

/// What the logs of a storm say.
struct judgement {
    judgement() = default;

    std::uint64_t grants = 0;
    std::uint64_t busy = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t store_away = 0;
    std::uint64_t held_when_cut_off = 0;
    std::uint64_t failed = 0;
    std::int32_t failed_code = 0;  ///< Of the last of these.
    std::uint64_t lost = 0;
    std::uint64_t cut_off = 0;  ///< Killed while it waited or held.

    /// Pairs of leases that exclude each other and both said "held" at some moment.
    std::uint64_t overlaps = 0;
    /// Leases whose token was not above that of one before.
    std::uint64_t falling_tokens = 0;
    std::uint64_t held_though_refused = 0;
    std::string first_finding;  ///< Of these three kinds.

    /// From a release to the next writer's grant, who waited, when nobody who waited was stopped
    /// or killed meanwhile.
    spread hand_off;
    /// From the death of a writer to the next grant, unless somebody who waited was stopped
    /// meanwhile; and from its being stopped for longer than its TTL, whoever else was.
    spread after_kill;
    spread after_stop;
};

/// `process`, `lock` and `slot` of the records may be anything; records of process zero were never
/// written.
judgement
judge(std::span<const record> records, std::span<const blow> blows, std::chrono::nanoseconds ttl);

}  // namespace mortise::storm

#endif
