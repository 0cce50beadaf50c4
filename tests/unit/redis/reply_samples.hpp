// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_REDIS_REPLY_SAMPLES_HPP
#define MORTISE_TESTS_UNIT_REDIS_REPLY_SAMPLES_HPP

#include "store/redis/redis_wire.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

// Values as a server sends them.

inline store_detail::redis_value text_reply(std::string text) {
    store_detail::redis_value value;
    value.type = store_detail::redis_value::kind::text;
    value.text = std::move(text);
    return value;
}

inline store_detail::redis_value error_reply(std::string text) {
    store_detail::redis_value value;
    value.type = store_detail::redis_value::kind::error;
    value.text = std::move(text);
    return value;
}

inline store_detail::redis_value number_reply(std::int64_t number) {
    store_detail::redis_value value;
    value.type = store_detail::redis_value::kind::number;
    value.number = number;
    return value;
}

inline store_detail::redis_value array_reply(std::vector<store_detail::redis_value> items) {
    store_detail::redis_value value;
    value.type = store_detail::redis_value::kind::array;
    value.items = std::move(items);
    return value;
}

inline store_detail::redis_value texts_reply(const std::vector<std::string>& texts) {
    std::vector<store_detail::redis_value> items;
    for (const auto& each : texts)
        items.push_back(text_reply(each));
    return array_reply(std::move(items));
}

}  // namespace mortise::test

#endif
