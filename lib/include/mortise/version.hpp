// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_VERSION_HPP
#define MORTISE_VERSION_HPP

#define MORTISE_VERSION_MAJOR 0
#define MORTISE_VERSION_MINOR 1
#define MORTISE_VERSION_PATCH 0

namespace mortise {

/// The version of the compiled library, as "0.1.0".
const char* version() noexcept;

}  // namespace mortise

#endif
