// SPDX-License-Identifier: BSL-1.0
#include "store/redis/server_facts.hpp"

#include "store/redis/words.hpp"

#include <algorithm>

namespace mortise::store_detail {
namespace {

std::uint64_t unsigned_in(std::string_view text) noexcept {
    words number(text);
    const auto value = number.number();
    return number.failed() ? 0 : value;
}

std::uint64_t major_of(std::string_view version) noexcept {
    return unsigned_in(version.substr(0, version.find('.')));
}

}  // namespace

redis_failure server_facts::read_answer(const result<redis_value>& answer) {
    if (!answer)
        return {errc::store_unavailable, "INFO has no answer: " + answer.error().message()};
    if (answer->type == redis_value::kind::text) {
        read_info(answer->text);
        return {};
    }
    const errc meaning = meaning_of_refusal(answer->text);
    return refuses_user(meaning) ? redis_failure() : redis_failure(meaning, answer->text);
}

void server_facts::read_info(std::string_view report) {
    known = true;
    while (!report.empty()) {
        const auto line = report.substr(0, report.find('\n'));
        report.remove_prefix(std::min(line.size() + 1, report.size()));
        const auto colon = line.find(':');
        if (colon == std::string_view::npos)
            continue;
        const auto field = line.substr(0, colon);
        const auto value = line.substr(colon + 1, line.find('\r') - colon - 1);
        if (field == "redis_version")
            version = value;
        else if (field == "maxmemory_policy")
            eviction_policy = value;
        else if (field == "aof_enabled")
            append_only = value == "1";
        else if (field == "role")
            primary = value == "master";
        else if (field == "connected_slaves")
            replicas = unsigned_in(value);
    }
}

void server_facts::read_config(const redis_value& reply) {
    for (std::size_t at = 0; at + 1 < reply.items.size(); at += 2) {
        const auto& field = reply.items[at].text;
        const auto& value = reply.items[at + 1].text;
        if (field == "appendfsync")
            append_fsync = value;
        else if (field == "no-appendfsync-on-rewrite")
            fsync_stops_on_rewrite = value != "no";
        else if (field == "min-replicas-to-write")
            replicas_to_write = value;
    }
}

bool server_facts::may_evict(bool keys_expire) const {
    if (eviction_policy.empty() || eviction_policy == "noeviction")
        return false;
    return keys_expire || !eviction_policy.starts_with("volatile-");
}

redis_failure server_facts::judge(const accepted_risks& accepted, bool keys_expire) const {
    constexpr std::uint64_t major_min = 6;
    if (!version.empty() && major_of(version) < major_min)
        return {errc::wrong_server, "its version is " + version};
    if (!primary)
        return {errc::read_only_server, "it is a replica"};
    // Where keys expire, a server that forgot a lock is no different from one that let it expire.
    if (!known && !keys_expire && !accepted.unseen_restarts)
        return {errc::unsafe_server, "it does not tell which run of the server it is (INFO)"};
    if (!accepted.eviction && may_evict(keys_expire))
        return {errc::unsafe_server, "its maxmemory-policy is " + eviction_policy};
    return {};
}

token_strength server_facts::strength() const noexcept {
    const bool durable = append_only && append_fsync == "always" &&
                         fsync_stops_on_rewrite == std::optional(false) &&
                         !eviction_policy.empty() && !may_evict(false) && primary && replicas == 0;
    return durable ? token_strength::strict : token_strength::durable_if_configured;
}

}  // namespace mortise::store_detail
