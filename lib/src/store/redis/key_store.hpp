// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_KEY_STORE_HPP
#define MORTISE_STORE_REDIS_KEY_STORE_HPP

#include "mortise/store.hpp"
#include "store/redis/redis_examination.hpp"
#include "store/redis/redis_link.hpp"
#include "store/redis/redis_wire.hpp"

#include <memory>

namespace mortise::store_detail {

/// Makes a Redis store in the single-key form.
/// @param tokens the domain of its tokens; empty: it gives none.
/// @param known what is known of it without asking the server.
std::unique_ptr<store> make_key_store(
    link_settings settings,
    redis_wire_factory wires,
    const token_domain& tokens,
    redis_examination known
);

}  // namespace mortise::store_detail

#endif
