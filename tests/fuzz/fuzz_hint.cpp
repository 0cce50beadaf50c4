// SPDX-License-Identifier: BSL-1.0
// A datagram that is no hint is ignored; a hint that was decoded can be encoded again.
#include "fuzz/target.hpp"
#include "store/sqlite/hint_sender.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace mortise::fuzz::hint_target {

using store_detail::decode;
using store_detail::hint;
using store_detail::hint_bytes;

MORTISE_FUZZ_TARGET(hint) {
    constexpr std::size_t unused_at = 6;  // two bytes that say nothing
    constexpr std::size_t unused_end = 8;
    hint sent;
    sent.type = static_cast<hint::kind>(1 + in.pick(5));
    sent.session = in.edge<std::uint64_t>();
    sent.request = in.edge<std::uint64_t>();
    auto bytes = store_detail::encode(sent);
    MORTISE_ASSERT(decode(bytes) == sent);

    const std::string raw = in.rest();
    const auto given = std::as_bytes(std::span(raw));
    const auto understood = decode(given);
    MORTISE_ASSERT(!understood || given.size() == hint_bytes);
    if (understood) {
        auto again = store_detail::encode(*understood);
        std::copy_n(given.begin() + unused_at, unused_end - unused_at, again.begin() + unused_at);
        MORTISE_ASSERT(std::equal(again.begin(), again.end(), given.begin()));
    }
    // A hint of ours that the network spoiled.
    for (std::size_t i = 0; i < std::min(raw.size(), bytes.size()); ++i)
        bytes[i] ^= static_cast<std::byte>(raw[i]);
    if (const auto bent = decode(bytes))
        MORTISE_ASSERT(decode(store_detail::encode(*bent)) == bent);
    MORTISE_ASSERT(!decode(std::span(bytes).first(std::min(raw.size(), bytes.size() - 1))));
}

}  // namespace mortise::fuzz::hint_target
