// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_DB_DURABILITY_HPP
#define MORTISE_DB_DURABILITY_HPP

#include <cstdint>

namespace mortise::db {

/// When work counts as done. Either kind is atomic, in order, and survives its process.
enum class durability : std::uint8_t {
    force,  ///< On the disk before anybody hears of it: survives a power failure.
    lazy,   ///< A power failure may take it away, until later forced work makes it durable, too.
};

}  // namespace mortise::db

#endif
