// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_REDIS_VALUE_HPP
#define MORTISE_TESTS_SUPPORT_REDIS_VALUE_HPP

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::test {

/// A value from a Redis server, as a tree.
class redis_value {
public:
    enum class kind {
        null,
        text,     ///< In `text`.
        error,    ///< In `text`.
        number,   ///< A whole one, in `number`.
        real,     ///< As it was sent, in `text`.
        boolean,  ///< 0 or 1 in `number`.
        array,
        set,
        map,  ///< Key, value, key, value, ... in `items`.
        push,
    };

    kind type = kind::null;
    std::string text;
    std::int64_t number = 0;
    std::vector<redis_value> items;

    bool is_null() const noexcept { return type == kind::null; }
    bool is_error() const noexcept { return type == kind::error; }
    bool is(std::string_view words) const noexcept { return type == kind::text && text == words; }

    /// The items of an aggregate as texts; numbers in decimal.
    std::vector<std::string> texts() const;

    /// The value of this key in a map, or in an array of keys and values, as RESP2 has it.
    /// @throws std::out_of_range
    const redis_value& at(std::string_view key) const;
    /// @throws std::out_of_range
    const redis_value& at(std::size_t index) const { return items.at(index); }

    friend bool operator==(const redis_value&, const redis_value&) = default;

    /// GoogleTest's printer.
    friend void PrintTo(const redis_value& value, std::ostream* out);
};

/// The value of one whole message; attributes are passed over.
/// @throws resp_error
redis_value decode_redis_value(std::string_view message);

/// A command as clients send it.
std::string encode_redis_command(const std::vector<std::string>& words);

}  // namespace mortise::test

#endif
