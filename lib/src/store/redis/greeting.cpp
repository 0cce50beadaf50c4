// SPDX-License-Identifier: BSL-1.0
#include "store/redis/greeting.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

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

std::vector<redis_command> greeting_of(const wire_settings& settings, const redis_login& login) {
    redis_command hello{"HELLO", "3"};
    if (!login.password.empty()) {
        const std::string user = login.user.empty() ? "default" : login.user;
        for (const std::string& word : {std::string("AUTH"), user, login.password})
            hello.push_back(word);
    }
    hello.push_back("SETNAME");
    hello.push_back(settings.client_name);
    std::vector<redis_command> greeting(1, std::move(hello));
    if (settings.database != 0)
        greeting.push_back({"SELECT", std::to_string(settings.database)});
    if (settings.no_evict)
        greeting.push_back({"CLIENT", "NO-EVICT", "ON"});
    return greeting;
}

redis_failure
judge_greeting(const std::vector<redis_value>& replies, const wire_settings& settings) {
    auto judged = replies;
    const std::size_t musts = settings.database != 0 ? 2 : 1;
    if (judged.size() > musts)
        judged.resize(musts);  // The rest are wishes: an old server does not know them.
    auto failure = judge_hello(judged, settings.role);
    // An old server repeats some of what it does not know, and that may be a part of a password.
    failure.text.resize(std::min(failure.text.size(), failure.text.find(", with args")));
    return failure;
}

redis_failure judge_hello(const std::vector<redis_value>& replies, redis_role wanted) {
    for (const auto& each : replies) {
        if (each.type == redis_value::kind::error)
            return {meaning_of_refusal(each.text), each.text};
    }
    if (replies.empty() || replies.front().type != redis_value::kind::array)
        return {errc::wrong_server, "it does not greet as a Redis server does"};
    const auto& hello = replies.front();
    const auto mode = field(hello, "mode");
    const bool cluster = wanted == redis_role::node;
    const bool sentinel = wanted == redis_role::sentinel;
    if (!cluster && mode == "cluster")
        return {errc::wrong_server, "it is part of a Redis Cluster: name it with redis+cluster://"};
    if (cluster && mode != "cluster")
        return {errc::wrong_server, "it is no part of a Redis Cluster: name it with redis://"};
    if (sentinel && mode != "sentinel")
        return {errc::wrong_server, "it is no sentinel"};
    if (!sentinel && mode == "sentinel")
        return {errc::wrong_server, "it is a sentinel: name it with redis+sentinel://"};
    if (!sentinel && !cluster && field(hello, "role") == "replica")
        return {errc::read_only_server, "it is a replica"};
    return {};
}

bool answers_command(const redis_value& push, std::string_view name) noexcept {
    if (push.type != redis_value::kind::array || push.items.empty())
        return false;
    const std::string& kind = push.items.front().text;
    return std::equal(kind.begin(), kind.end(), name.begin(), name.end(), [](char a, char b) {
        return a == std::tolower(static_cast<unsigned char>(b));
    });
}

}  // namespace mortise::store_detail
