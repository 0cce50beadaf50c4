// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_lock_name.hpp"

#include <unistd.h>

namespace mortise::tool {

std::string bench_lock_name() {
    constexpr std::size_t digits = 11;
    const std::string number = std::to_string(::getpid());
    return "bench-" + std::string(digits - number.size(), '0') + number;
}

}  // namespace mortise::tool
