// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_REDIS_VALUE_HPP
#define MORTISE_STORE_REDIS_REDIS_VALUE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A command as it is sent: its name and its arguments, which are bytes.
using redis_command = std::vector<std::string>;

/// A value that a server sends (RESP3), with only the kinds that the callers tell apart.
struct redis_value {
    enum class kind : std::uint8_t {
        null,
        number,  ///< An integer; other numbers and truth values are text.
        text,
        error,  ///< `text` begins with a code in capitals, as in "NOAUTH Authentication required."
        array,  ///< Sets and pushes, too; and maps: keys and values in turn.
    };

    redis_value() = default;

    kind what = kind::null;
    std::int64_t number = 0;
    std::string text;
    std::vector<redis_value> items;

    friend bool operator==(const redis_value&, const redis_value&) = default;
};

}  // namespace mortise::store_detail

#endif
