// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDLOCK_REDLOCK_STORE_HPP
#define MORTISE_STORE_REDLOCK_REDLOCK_STORE_HPP

#include "mortise/store/redlock.hpp"
#include "store/redis/redis_wire.hpp"

#include <memory>
#include <vector>

namespace mortise::store_detail {

/// Makes a Redlock store that reaches each of its nodes by one of `wires`.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_redlock_store(
    const redlock_store_config& config, const std::vector<redis_wire_factory>& wires
);

}  // namespace mortise::store_detail

#endif
