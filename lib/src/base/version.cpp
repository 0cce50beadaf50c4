// SPDX-License-Identifier: BSL-1.0
#include "mortise/version.hpp"

#include <string_view>

#define MORTISE_TEXT_OF(x) #x
#define MORTISE_TEXT(x) MORTISE_TEXT_OF(x)
#define MORTISE_VERSION_OF_HEADER                                                                  \
    MORTISE_TEXT(MORTISE_VERSION_MAJOR)                                                            \
    "." MORTISE_TEXT(MORTISE_VERSION_MINOR) "." MORTISE_TEXT(MORTISE_VERSION_PATCH)

namespace mortise {

static_assert(
    std::string_view(MORTISE_VERSION_OF_HEADER) == MORTISE_VERSION_STRING,
    "version.hpp and project() in CMakeLists.txt must name the same version"
);

const char* version() noexcept {
    return MORTISE_VERSION_OF_HEADER;
}

}  // namespace mortise
