// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_PRELOADED_FAULTS_HPP
#define MORTISE_TESTS_SUPPORT_PRELOADED_FAULTS_HPP

#include <atomic>
#include <cstdint>

namespace mortise::test {

/// What a test tells the library in its server, by a file that both map.
struct preloaded_faults {
    std::atomic<std::int64_t> clock_ahead_us{0};
    std::atomic<bool> disk_is_full{false};
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "it is shared between processes");

/// The environment variable that names the file.
inline constexpr const char* faults_variable = "MORTISE_SERVER_FAULTS";

}  // namespace mortise::test

#endif
