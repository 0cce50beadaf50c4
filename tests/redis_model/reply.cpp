// SPDX-License-Identifier: BSL-1.0
#include "redis_model/reply.hpp"

#include <utility>

namespace mortise::redis_model {
namespace {

reply with_text(reply::kind type, std::string text) {
    reply result;
    result.type = type;
    result.text = std::move(text);
    return result;
}

store_detail::redis_value::kind kind_of(reply::kind type) {
    using to = store_detail::redis_value::kind;
    switch (type) {
    case reply::kind::integer:
        return to::number;
    case reply::kind::bulk:
    case reply::kind::status:
        return to::text;
    case reply::kind::error:
        return to::error;
    case reply::kind::array:
        return to::array;
    case reply::kind::null:
        break;
    }
    return to::null;
}

}  // namespace

reply count_of(std::size_t value) {
    return integer(static_cast<std::int64_t>(value));
}

reply truth(bool value) {
    return integer(value ? 1 : 0);
}

reply bulk(std::string text) {
    return with_text(reply::kind::bulk, std::move(text));
}

reply status(std::string text) {
    return with_text(reply::kind::status, std::move(text));
}

reply error(std::string text) {
    return with_text(reply::kind::error, std::move(text));
}

reply array(std::vector<reply> items) {
    reply result;
    result.type = reply::kind::array;
    result.items = std::move(items);
    return result;
}

reply array_of(const std::vector<std::string>& texts) {
    std::vector<reply> items;
    items.reserve(texts.size());
    for (const auto& each : texts)
        items.push_back(bulk(each));
    return array(std::move(items));
}

store_detail::redis_value to_value(const reply& from) {
    store_detail::redis_value value;
    value.type = kind_of(from.type);
    value.number = from.integer;
    value.text = from.text;
    value.items.reserve(from.items.size());
    for (const auto& each : from.items)
        value.items.push_back(to_value(each));
    return value;
}

}  // namespace mortise::redis_model
