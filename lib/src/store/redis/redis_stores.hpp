// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_STORES_HPP
#define MORTISE_STORE_REDIS_REDIS_STORES_HPP

#include "mortise/store.hpp"
#include "mortise/store/redis.hpp"
#include "store/redis/greeting.hpp"
#include "store/redis/redis_examination.hpp"
#include "store/redis/redis_link.hpp"
#include "store/redis/redis_wire.hpp"
#include "url/store_url.hpp"

#include <memory>
#include <string_view>

namespace mortise::store_detail {

/// What a link must know of the settings.
/// @throws error if the configuration cannot work.
link_settings checked_link_settings(const redis_store_config& config);

/// The wires to the server in the settings.
redis_wire_factory wires_to(const redis_store_config& config);

/// Makes a Redis store, in the form that `config` says, that reaches its server by `wires`.
/// @throws error if the configuration cannot work.
std::unique_ptr<store> make_redis_store(const redis_store_config& config, redis_wire_factory wires);

/// A store of the queue form; also a bucket of a store that is spread over a cluster.
class queue_store_port : public store {
public:
    /// What `examine` judges.
    virtual asio::awaitable<result<redis_examination>> examination() = 0;
};

/// Makes a Redis store in the queue form.
std::unique_ptr<queue_store_port> make_queue_store(
    const redis_store_config& config, link_settings settings, redis_wire_factory wires
);

/// Makes a store in the queue form whose locks are spread over a cluster, in buckets.
std::unique_ptr<store>
make_bucketed_store(const redis_store_config& config, link_settings settings, wire_settings node);

/// Makes a Redis store in the single-key form.
/// @param tokens the domain of its tokens; empty: it gives none.
/// @param known what is known of it without asking the server.
std::unique_ptr<store> make_single_key_store(
    link_settings settings,
    redis_wire_factory wires,
    const token_domain& tokens,
    redis_examination known
);

/// Whether a URL of that scheme names a Redis server, or sentinels that know one.
bool is_redis_scheme(std::string_view scheme) noexcept;

/// The number of a database; no text stands for 0.
/// @throws error `bad_url`
unsigned database_in(std::string_view text, const store_url& url);

/// The configuration that a URL stands for: see `open_store`. Reads the files and environment
/// variables that the URL names for passwords.
/// @throws error
redis_store_config redis_config_of(const store_url& url);

}  // namespace mortise::store_detail

#endif
