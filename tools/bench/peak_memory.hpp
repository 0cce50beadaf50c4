// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_PEAK_MEMORY_HPP
#define MORTISE_TOOLS_BENCH_PEAK_MEMORY_HPP

#include <cstdint>
#include <optional>

namespace mortise::tool {

/// How much memory this process takes at most, more than when this was made. Nothing where the
/// kernel does not say it.
class peak_memory {
public:
    peak_memory();
    std::optional<std::uint64_t> growth_bytes() const;

private:
    std::optional<std::uint64_t> before_;
};

}  // namespace mortise::tool

#endif
