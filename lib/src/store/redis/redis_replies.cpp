// SPDX-License-Identifier: BSL-1.0
#include "store/redis/redis_replies.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace mortise::store_detail {
namespace {

using type = boost::redis::resp3::type;

std::int64_t number_in(std::string_view text) noexcept {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

redis_value simple(type node_type, std::string_view text) {
    redis_value value;
    switch (node_type) {
    case type::number:
        value.type = redis_value::kind::number;
        value.number = number_in(text);
        break;
    case type::null:
        break;
    case type::simple_error:
    case type::blob_error:
        value.type = redis_value::kind::error;
        value.text = text;
        break;
    default:
        value.type = redis_value::kind::text;
        value.text = text;
        break;
    }
    return value;
}

std::string_view field(const redis_value& map, std::string_view name) noexcept {
    for (std::size_t at = 0; at + 1 < map.items.size(); at += 2) {
        if (map.items[at].text == name)
            return map.items[at + 1].text;
    }
    return {};
}

}  // namespace

std::optional<redis_value>
reply_builder::add(const boost::redis::resp3::basic_node<std::string_view>& node) {
    constexpr std::size_t reserved_max = 4'096;
    redis_value done;
    if (boost::redis::resp3::is_aggregate(node.data_type)) {
        const auto count =
            node.aggregate_size * boost::redis::resp3::element_multiplicity(node.data_type);
        done.type = redis_value::kind::array;
        if (count != 0) {
            open_.push_back({std::move(done), count});
            open_.back().value.items.reserve(std::min(count, reserved_max));
            return std::nullopt;
        }
    } else {
        done = simple(node.data_type, node.value);
    }
    while (!open_.empty()) {
        open_array& into = open_.back();
        into.value.items.push_back(std::move(done));
        if (--into.left != 0)
            return std::nullopt;
        done = std::move(into.value);
        open_.pop_back();
    }
    return done;
}

redis_failure judge_hello(const std::vector<redis_value>& replies, bool sentinel) {
    for (const auto& each : replies) {
        if (each.type == redis_value::kind::error)
            return {meaning_of_refusal(each.text), each.text};
    }
    if (replies.empty() || replies.front().type != redis_value::kind::array)
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
