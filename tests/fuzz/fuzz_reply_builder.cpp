// SPDX-License-Identifier: BSL-1.0
// Nodes of any value make that value again, which only the last of them completes.
#include "fuzz/some_redis_values.hpp"
#include "fuzz/target.hpp"
#include "store/redis/redis_replies.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::fuzz::reply_builder_target {
namespace {

using boost::redis::resp3::type;
using store_detail::redis_value;
using store_detail::reply_builder;

type type_of(const redis_value& value, bool other) {
    switch (value.type) {
    case redis_value::kind::null:
        break;
    case redis_value::kind::number:
        return type::number;
    case redis_value::kind::text:
        return other ? type::simple_string : type::blob_string;
    case redis_value::kind::error:
        return other ? type::simple_error : type::blob_error;
    case redis_value::kind::array:
        if (value.items.size() % 2 == 0 && other)
            return type::map;
        return other ? type::set : type::array;
    }
    return type::null;
}

// Returns the result of the last node.
std::optional<redis_value>
add_nodes(reply_builder& into, const redis_value& value, std::size_t depth, bool other) {
    const type node_type = type_of(value, other);
    const auto size = value.items.size() / boost::redis::resp3::element_multiplicity(node_type);
    const std::string text =
        value.type == redis_value::kind::number ? std::to_string(value.number) : value.text;
    const bool many = value.type == redis_value::kind::array;
    auto reply = into.add({node_type, many ? size : 1, depth, std::string_view(text)});
    for (const auto& each : value.items) {
        MORTISE_ASSERT(!reply);
        reply = add_nodes(into, each, depth + 1, other);
    }
    MORTISE_ASSERT(depth != 0 || reply);
    return reply;
}

}  // namespace

MORTISE_FUZZ_TARGET(reply_builder) {
    reply_builder builder;
    for (int replies = 0; replies < 4; ++replies) {
        const bool other = in.flag();
        const auto value = some_redis_value(in);
        MORTISE_ASSERT(add_nodes(builder, value, 0, other) == value);
    }
    // Nodes that do not fit together: sizes are believed, memory is not reserved for them.
    for (int nodes = 0; nodes < 32; ++nodes) {
        const auto node_type = static_cast<type>(in.pick(static_cast<std::size_t>(type::invalid)));
        const auto size = in.edge<std::size_t>();
        const std::string text = in.text(8);
        builder.add({node_type, size, 0, std::string_view(text)});
    }
}

}  // namespace mortise::fuzz::reply_builder_target
