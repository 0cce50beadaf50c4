// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_PARTIES_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_PARTIES_HPP

#include "support/raw_redis.hpp"

#include <cstdint>
#include <string>

namespace mortise::test {

/// How many hold the lock at this key or wait for it: a single holder that took a free lock is a
/// text, others are a sorted set.
inline std::int64_t parties_at(raw_redis& redis, const std::string& key) {
    if (redis.command({"TYPE", key}).text == "string")
        return 1;
    return redis.try_command({"ZCARD", key}).number;  // It may change in between.
}

}  // namespace mortise::test

#endif
