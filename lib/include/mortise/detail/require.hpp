// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_REQUIRE_HPP
#define MORTISE_DETAIL_REQUIRE_HPP

#include "mortise/error.hpp"

#include <chrono>

namespace mortise::detail {

/// Checks one setting of a configuration. @throws error `errc::bad_config`: the name of the setting
/// and what to do about it.
inline void require(bool right, const char* name, const char* remedy) {
    if (!right)
        throw error(errc::bad_config, name, remedy);
}

/// Checks the limits of the pauses between retries. @throws error `errc::bad_config`
inline void
require_retry_limits(std::chrono::milliseconds retry_first, std::chrono::milliseconds retry_max) {
    require(
        retry_first >= std::chrono::milliseconds(1) && retry_max >= retry_first &&
            retry_max <= std::chrono::hours(24),
        "retry_first, retry_max",
        "use one millisecond to one day, the first not above the last"
    );
}

}  // namespace mortise::detail

#endif
