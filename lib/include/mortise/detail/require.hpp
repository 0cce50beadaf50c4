// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DETAIL_REQUIRE_HPP
#define MORTISE_DETAIL_REQUIRE_HPP

#include "mortise/error.hpp"

namespace mortise::detail {

/// Checks one setting of a configuration. @throws error `errc::bad_config`: the name of the setting
/// and what to do about it.
inline void require(bool right, const char* name, const char* remedy) {
    if (!right)
        throw error(errc::bad_config, name, remedy);
}

}  // namespace mortise::detail

#endif
