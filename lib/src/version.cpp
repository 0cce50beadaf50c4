// SPDX-License-Identifier: BSL-1.0
#include "mortise/version.hpp"

#define MORTISE_TEXT_OF(x) #x
#define MORTISE_TEXT(x) MORTISE_TEXT_OF(x)

namespace mortise {

const char* version() noexcept
{
    return MORTISE_TEXT(MORTISE_VERSION_MAJOR) "." MORTISE_TEXT(MORTISE_VERSION_MINOR) "." MORTISE_TEXT(
        MORTISE_VERSION_PATCH);
}

}  // namespace mortise
