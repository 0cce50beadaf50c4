// SPDX-License-Identifier: BSL-1.0
// Any value is read as it was written, in whatever portions it comes; any bytes are read or
// refused.
#include "fuzz/some_redis_values.hpp"
#include "fuzz/target.hpp"
#include "store/redis/resp.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::fuzz::resp_target {
namespace {

using store_detail::redis_value;
using store_detail::resp_item;
using store_detail::resp_reader;

constexpr std::string_view line_end = "\r\n";

void put_line(std::string& to, char type, std::string_view text) {
    to += type;
    to += text;
    to += line_end;
}

void put_text(std::string& to, char type, std::string_view text) {
    put_line(to, type, std::to_string(text.size()));
    to += text;
    to += line_end;
}

void put(std::string& to, const redis_value& value, bool other) {
    switch (value.type) {
    case redis_value::kind::null:
        return other ? put_line(to, '$', "-1") : put_line(to, '_', "");
    case redis_value::kind::number:
        return put_line(to, ':', std::to_string(value.number));
    case redis_value::kind::text:
        if (other && value.text.find('\r') == std::string::npos)
            return put_line(to, value.text.size() % 2 == 0 ? '+' : ',', value.text);
        return put_text(to, other ? '=' : '$', value.text);
    case redis_value::kind::error:
        if (other && value.text.find('\r') == std::string::npos)
            return put_line(to, '-', value.text);
        return put_text(to, '!', value.text);
    case redis_value::kind::array:
        break;
    }
    const bool map = other && value.items.size() % 2 == 0;
    put_line(
        to, map ? '%' : (other ? '~' : '*'), std::to_string(value.items.size() / (map ? 2 : 1))
    );
    for (const auto& each : value.items)
        put(to, each, other);
}

// Reads all values of the bytes, which come in portions.
std::vector<redis_value> read(std::string_view bytes, input& in, bool& failed) {
    resp_reader reader;
    std::vector<redis_value> values;
    while (!bytes.empty()) {
        const auto room = reader.room();
        const std::size_t most = std::min(room.size(), bytes.size());
        const std::size_t size = in.flag() ? most : std::min<std::size_t>(most, 1 + in.pick(16));
        std::copy_n(bytes.begin(), size, room.begin());
        reader.filled(size);
        bytes.remove_prefix(size);
        while (auto item = reader.next())
            values.push_back(std::move(item->value));
    }
    failed = reader.failed();
    return values;
}

}  // namespace

MORTISE_FUZZ_TARGET(resp) {
    std::string bytes;
    std::vector<redis_value> written;
    for (int i = 0; i < 4; ++i) {
        written.push_back(some_redis_value(in));
        put(bytes, written.back(), in.flag());
    }
    bool failed = false;
    MORTISE_ASSERT(read(bytes, in, failed) == written);
    MORTISE_ASSERT(!failed);
    // The same with some bytes changed, then bytes of no sense.
    for (int i = 0; i < 4 && !bytes.empty(); ++i)
        bytes[in.pick(bytes.size())] = static_cast<char>(in.pick(256));
    read(bytes, in, failed);
    read(in.text(256), in, failed);
}

}  // namespace mortise::fuzz::resp_target
