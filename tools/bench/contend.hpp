// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_CONTEND_HPP
#define MORTISE_TOOLS_BENCH_CONTEND_HPP

#include <cstdint>
#include <vector>

namespace mortise::tool {

/// One grant as its holder saw it. Times are nanoseconds of `CLOCK_BOOTTIME`, which all processes
/// share.
struct contend_record {
    std::int64_t asked = 0;     ///< The call of the acquire.
    std::int64_t granted = 0;   ///< The holder continues, and believes that it holds.
    std::int64_t released = 0;  ///< The call of the release: that belief ends.
    std::uint64_t token = 0;
    std::uint32_t worker = 0;  ///< The index of a task of one process.
    std::uint32_t complete = 0;
};

/// The findings in the log of `bench contend`.
struct contend_report {
    double locks_per_s = 0;
    double gap_us_p50 = 0;  ///< From the release call to the next holder, if it waited by then.
    double gap_us_p99 = 0;
    double wait_ms_p50 = 0;  ///< From the acquire call to the grant.
    double wait_ms_p99 = 0;
    double wait_ms_max = 0;
    double same_worker = 0;               ///< Share of grants to the worker of the previous grant.
    std::uint64_t overlaps = 0;           ///< Grants that began before an earlier one ended.
    std::uint64_t token_regressions = 0;  ///< Grants whose token does not exceed all earlier ones.
};

/// Judges the merged logs of all workers. The order of the records does not matter.
contend_report judge(std::vector<contend_record> records);

}  // namespace mortise::tool

#endif
