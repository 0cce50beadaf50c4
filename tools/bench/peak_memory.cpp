// SPDX-License-Identifier: BSL-1.0
#include "bench/peak_memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace mortise::tool {
namespace {

/// Reads a line of /proc/self/status that counts kilobytes.
std::optional<std::uint64_t> bytes_of(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t count = 0;
        if (word == key && status >> count)
            return count * 1'024;
    }
    return std::nullopt;
}

}  // namespace

peak_memory::peak_memory() {
    ::malloc_trim(0);
    std::ofstream reset("/proc/self/clear_refs");
    reset << '5' << std::flush;  // resets the peak
    if (reset)
        before_ = bytes_of("VmRSS:");
}

std::optional<std::uint64_t> peak_memory::growth_bytes() const {
    const auto most = bytes_of("VmHWM:");
    if (!before_ || !most)
        return std::nullopt;
    return *most > *before_ ? *most - *before_ : 0;
}

}  // namespace mortise::tool
