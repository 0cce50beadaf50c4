// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_BENCH_PEAK_MEMORY_HPP
#define MORTISE_TOOLS_BENCH_PEAK_MEMORY_HPP

#include <cstdint>
#include <optional>

namespace mortise::tool {

/// How far the peak memory of this process rises above its memory at construction. Nothing if the
/// kernel does not tell.
class peak_memory {
public:
    peak_memory();
    std::optional<std::uint64_t> growth_bytes() const;

private:
    std::optional<std::uint64_t> before_;
};

}  // namespace mortise::tool

#endif
