// SPDX-License-Identifier: BSL-1.0
#include "bench/progress.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace mortise::tool {

progress::progress(std::string what)
    : what_(std::move(what)), visible_(::isatty(STDERR_FILENO) == 1) {}

progress::~progress() {
    if (visible_)
        std::cerr << "\r\x1b[K" << std::flush;
}

void progress::show(std::uint64_t done, std::uint64_t all) {
    if (visible_)
        std::cerr << "\r\x1b[K" << what_ << ": " << done << " of " << all << std::flush;
}

}  // namespace mortise::tool
