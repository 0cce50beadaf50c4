// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_STORES_HPP
#define MORTISE_STORE_REDIS_REDIS_STORES_HPP

#include "mortise/store.hpp"
#include "mortise/store/redis.hpp"
#include "store/redis/redis_examination.hpp"
#include "store/redis/redis_link.hpp"
#include "store/redis/redis_wire.hpp"

#include <memory>

namespace mortise::store_detail {

/// Makes a Redis store, in the form that `config` says, that reaches its server by `wires`.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_redis_store(const redis_store_config& config, redis_wire_factory wires);

/// Makes a Redis store in the queue form.
std::unique_ptr<store> make_queue_store(
    const redis_store_config& config, link_settings settings, redis_wire_factory wires
);

/// Makes a Redis store in the single-key form.
/// @param tokens the domain of its tokens; empty: it gives none.
/// @param known what is known of it without asking the server.
std::unique_ptr<store> make_single_key_store(
    link_settings settings,
    redis_wire_factory wires,
    const token_domain& tokens,
    redis_examination known
);

}  // namespace mortise::store_detail

#endif
