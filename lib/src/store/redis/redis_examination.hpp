// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_EXAMINATION_HPP
#define MORTISE_STORE_REDIS_REDIS_EXAMINATION_HPP

#include "mortise/store_types.hpp"
#include "store/redis/server_facts.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// What is known of a Redis store once the server has been asked. No I/O.
struct redis_examination {
    redis_examination() = default;

    std::string name;  ///< The name of the server in messages.
    server_facts facts;
    bool tls = false;
    bool fails_over = false;   ///< Sentinels or a cluster promote a replica.
    bool has_session = false;  ///< Whether `facts.flush_is_heard` was tried.
    unsigned min_replicas = 0;
    std::chrono::milliseconds longest_ttl{0};     ///< The longest TTL by our settings.
    std::chrono::milliseconds quarantine{};       ///< How long the store still grants nothing.
    std::chrono::milliseconds remembered_ttl{0};  ///< The longest TTL that the store knows of.
    bool single_key = false;                      ///< The form of the store.
    bool tokens = true;                           ///< Whether the store gives any.
    std::uint64_t sessions = 0;
    std::uint64_t locks = 0;

    /// Says of each thing that the promises of the store rest on whether it is so.
    std::vector<store_finding> findings() const;
};

}  // namespace mortise::store_detail

#endif
