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

/// What a Redis store was found to be, by whoever asked the server. No I/O.
struct redis_examination {
    redis_examination() = default;

    std::string name;  ///< What the server is called in messages.
    server_facts facts;
    bool tls = false;
    bool sentinels = false;
    bool has_session = false;  ///< Whether `facts.flush_is_heard` was tried.
    unsigned min_replicas = 0;
    std::chrono::milliseconds longest_ttl{0};     ///< As far as our settings say,
    std::chrono::milliseconds quarantine{};       ///< For how long nothing is granted yet.
    std::chrono::milliseconds remembered_ttl{0};  ///< and as far as the store knows.
    bool single_key = false;                      ///< The form of the store.
    bool tokens = true;                           ///< Whether it gives any.
    std::uint64_t sessions = 0;
    std::uint64_t locks = 0;

    /// What the promises of the store rest on, and whether that is so.
    std::vector<store_finding> findings() const;
};

}  // namespace mortise::store_detail

#endif
