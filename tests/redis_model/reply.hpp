// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_REPLY_HPP
#define MORTISE_TESTS_REDIS_MODEL_REPLY_HPP

#include "store/redis/redis_wire.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::redis_model {

/// The reply of a command: a value as on the wire, except that it tells a status from text, as
/// scripts do.
struct reply {
    enum class kind : std::uint8_t { null, integer, bulk, status, error, array };

    kind type = kind::null;
    std::int64_t integer = 0;
    std::string text;
    std::vector<reply> items;
};

inline reply no_value() {
    return {};
}

inline reply integer(std::int64_t value) {
    reply result;
    result.type = reply::kind::integer;
    result.integer = value;
    return result;
}

reply count_of(std::size_t value);
reply truth(bool value);
reply bulk(std::string text);
reply status(std::string text);
reply error(std::string text);
reply array(std::vector<reply> items = {});
reply array_of(const std::vector<std::string>& texts);

/// Converts a reply for a client that speaks RESP3.
store_detail::redis_value to_value(const reply& from);

/// The error that ends a command: thrown by the command, and sent as its reply.
class refusal {
public:
    explicit refusal(std::string text) : text_(std::move(text)) {}
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace mortise::redis_model

#endif
