// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_STORM_RESOURCE_MESSAGE_HPP
#define MORTISE_TESTS_STORM_RESOURCE_MESSAGE_HPP

#include <cstdint>

namespace mortise::storm {

/// A worker's request to the resources and, sent back, its result. The bytes go over the socket as
/// they are: both ends are the same program.
struct resource_message {
    enum class kind : std::uint8_t {
        read,   ///< Raises the fence, then reads the value.
        write,  ///< Writes the value if the fence admits the token.
    };

    kind type = kind::read;
    std::uint8_t lock = 0;
    bool admitted = false;
    std::uint8_t padding = 0;
    std::uint32_t slot = 0;
    std::uint64_t token = 0;
    std::uint64_t value = 0;
};
static_assert(sizeof(resource_message) == 24);

}  // namespace mortise::storm

#endif
