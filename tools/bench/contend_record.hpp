// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_CONTEND_RECORD_HPP
#define MORTISE_TOOLS_BENCH_CONTEND_RECORD_HPP

#include <cstdint>

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

}  // namespace mortise::tool

#endif
