// SPDX-License-Identifier: BSL-1.0
#include "bench/slow_start.hpp"

#include <chrono>
#include <iostream>

namespace mortise::tool {

void explain_slow_start(clock::duration first_lock) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(first_lock);
    if (took < std::chrono::milliseconds(500))
        return;
    std::cerr << "mortise: the first lock took " << took.count()
              << " ms: a Redis server that has just started, or was flushed, grants nothing for "
                 "the longest TTL of its clients; if it surely never had a lock, say so by "
                 "?assume_new=1 in the URL\n";
}

}  // namespace mortise::tool
