// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_STORE_HPP
#define MORTISE_STORE_REDIS_REDIS_STORE_HPP

#include "mortise/store.hpp"
#include "mortise/store/redis.hpp"
#include "store/redis/redis_wire.hpp"

#include <memory>

namespace mortise::store_detail {

/// Makes a Redis store that reaches its server by `wires`; `config` says everything else.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_redis_store(const redis_store_config& config, redis_wire_factory wires);

}  // namespace mortise::store_detail

#endif
