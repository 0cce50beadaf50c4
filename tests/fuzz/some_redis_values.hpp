// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_FUZZ_SOME_REDIS_VALUES_HPP
#define MORTISE_TESTS_FUZZ_SOME_REDIS_VALUES_HPP

#include "fuzz/vocabulary.hpp"
#include "store/redis/redis_wire.hpp"

#include <cstdint>
#include <string>

namespace mortise::fuzz {

/// Words of scripts, one to a few with a space between them, or now and then any bytes.
inline std::string some_script_text(test::byte_source& in) {
    static const vocabulary known(
        "o l k f d u g q n c y m s r t a w x p1 p4 p65535 p65536 - 0 1 2 3 7 65535 65536 "
        "4294967295 "
        "9007199254740991 9007199254740992 18446744073709551615 18446744073709551616 name shop "
        "shop#1 a-name-of-25-characters-x a-name-of-26-characters-xy 4:name 1:1 2:77 0: "
        "0123456789abcdeffedcba9876543210 0123456789abcdeffedcba9876543210ffffffff"
    );
    // An input that is used up gives zeros, so this loop ends.
    std::string text = known.pick(in, 8);
    for (auto more = in.pick(8); more != 0; --more)
        text += ' ' + known.pick(in, 8);
    return text;
}

/// A value that is near to what scripts say: texts, numbers, and arrays of them.
inline store_detail::redis_value some_redis_value(test::byte_source& in, unsigned depth = 0) {
    using kind = store_detail::redis_value::kind;
    constexpr unsigned depth_max = 4;
    store_detail::redis_value value;
    value.type = static_cast<kind>(in.pick(depth < depth_max ? 8 : 4) & 7);
    if (value.type > kind::array)
        value.type = kind::array;
    switch (value.type) {
    case kind::null:
        break;
    case kind::number:
        value.number = in.edge<std::int64_t>();
        break;
    case kind::text:
    case kind::error:
        value.text = some_script_text(in);
        break;
    case kind::array:
        for (auto left = in.pick(12); left != 0; --left)
            value.items.push_back(some_redis_value(in, depth + 1));
        break;
    }
    return value;
}

}  // namespace mortise::fuzz

#endif
