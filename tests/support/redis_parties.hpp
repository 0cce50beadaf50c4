// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_PARTIES_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_PARTIES_HPP

#include "support/raw_redis.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

// What a store of the queue form with the usual prefix has at its server.

inline std::string store_key(std::string_view kind) {
    return "{mortise:}" + std::string(kind);
}

/// Whether a key stays when there are no sessions: by it a store describes itself.
inline bool is_lasting(std::string_view key, const std::string& prefix = "mortise:") {
    for (const char* const each : {"id", "s", "u", "b"}) {
        if (key == '{' + prefix + '}' + each)
            return true;
    }
    return key == prefix + "id";  // So that programs of format 1 keep away.
}

/// How many hold the lock or wait for it. All of them are in the text of the lock as long as they
/// are few.
inline std::int64_t parties_at(raw_redis& redis, const std::string& lock) {
    const auto text = redis.command({"GET", store_key("l:" + lock)}).text;
    // Each but the first one follows a space or a bar.
    if (text.empty())
        return 0;
    std::int64_t count = text.front() == '|' ? 0 : 1;
    for (std::size_t i = 0; i + 1 < text.size(); ++i)
        count += (text[i] == ' ' || text[i] == '|') && text[i + 1] != '|' ? 1 : 0;
    return count;
}

/// The deadline of a session, in microseconds of the server's clock.
inline std::int64_t deadline_at(raw_redis& redis, const std::string& session) {
    const auto text = redis.command({"HGET", store_key("s"), session}).text;
    const auto from = std::min(text.find(' '), text.size() - 1) + 1;
    return std::stoll(text.substr(from));
}

inline std::vector<std::string> sessions_at(raw_redis& redis) {
    return redis.command({"ZRANGE", store_key("d"), "0", "-1"}).texts();
}

}  // namespace mortise::test

#endif
