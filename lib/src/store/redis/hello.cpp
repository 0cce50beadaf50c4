// SPDX-License-Identifier: BSL-1.0
#include "store/redis/hello.hpp"

#include <string_view>

namespace mortise::store_detail {
namespace {

std::string_view field(const redis_value& map, std::string_view name) noexcept {
    for (std::size_t at = 0; at + 1 < map.items.size(); at += 2) {
        if (map.items[at].text == name)
            return map.items[at + 1].text;
    }
    return {};
}

}  // namespace

redis_failure judge_hello(const std::vector<redis_value>& replies, bool sentinel) {
    for (const auto& each : replies) {
        if (each.what == redis_value::kind::error)
            return {meaning_of_refusal(each.text), each.text};
    }
    if (replies.empty() || replies.front().what != redis_value::kind::array)
        return {errc::wrong_server, "it does not greet as a Redis server does"};
    const auto& hello = replies.front();
    const auto mode = field(hello, "mode");
    if (mode == "cluster")
        return {errc::wrong_server, "it is part of a Redis Cluster"};
    if (sentinel && mode != "sentinel")
        return {errc::wrong_server, "it is no sentinel"};
    if (!sentinel && mode == "sentinel")
        return {errc::wrong_server, "it is a sentinel: name it with redis+sentinel://"};
    if (!sentinel && field(hello, "role") == "replica")
        return {errc::read_only_server, "it is a replica"};
    return {};
}

}  // namespace mortise::store_detail
