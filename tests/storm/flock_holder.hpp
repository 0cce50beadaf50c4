// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_FLOCK_HOLDER_HPP
#define MORTISE_TESTS_STORM_FLOCK_HOLDER_HPP

#include <sys/types.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mortise::storm {

/// Whether the process holds an `flock` now, by the kernel's list. A process that waits holds none.
inline bool holds_flock(pid_t pid) {
    std::ifstream held("/proc/locks");
    for (std::string line; std::getline(held, line);) {
        std::istringstream words(line);
        std::string number;
        std::string kind;
        std::string how;
        std::string access;
        pid_t whose = 0;
        words >> number >> kind >> how >> access >> whose;  // "->" stands before a waiting one
        if (kind == "FLOCK" && whose == pid)
            return true;
    }
    return false;
}

}  // namespace mortise::storm

#endif
