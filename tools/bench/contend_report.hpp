// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_CONTEND_REPORT_HPP
#define MORTISE_TOOLS_BENCH_CONTEND_REPORT_HPP

#include "bench/contend_record.hpp"

#include <cstdint>
#include <vector>

namespace mortise::tool {

/// The findings in the log of `bench contend`.
struct contend_report {
    double locks_per_s = 0;
    double gap_us_p50 = 0;  ///< From the release call to the next holder, if it waited by then.
    double gap_us_p99 = 0;
    double wait_ms_p50 = 0;  ///< From the acquire call to the grant.
    double wait_ms_max = 0;
    double same_worker = 0;               ///< Share of grants to the worker of the previous grant.
    std::uint64_t overlaps = 0;           ///< Grants that began before an earlier one ended.
    std::uint64_t token_regressions = 0;  ///< Grants whose token does not exceed all earlier ones.
};

/// Judges the merged logs of all workers. The order of the records does not matter.
contend_report judge(std::vector<contend_record> records);

/// The value below which `share` of all values lie. Sorts them. Zero if there are none.
double quantile(std::vector<double>& values, double share);

}  // namespace mortise::tool

#endif
