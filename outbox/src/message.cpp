// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/message.hpp"

#include "mortise/detail/text.hpp"
#include "mortise/lock_token.hpp"
#include "mortise/store_types.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mortise::outbox {
namespace {

// The same header as for participants over HTTP.
constexpr std::string_view lock_header = "mortise-lock";

}  // namespace

// The parts: 48 bits of milliseconds, the version, 12 random bits, the variant, 62 random bits.
std::string message::draw_id() {
    const auto time = wall_now() / 1'000;
    const auto random = random_id::draw();
    const std::uint64_t high =
        static_cast<std::uint64_t>(time) << 16u | 0x7000u | (random.high & 0x0fffu);
    const std::uint64_t low = std::uint64_t{1} << 63u | random.low >> 2u;
    std::string text = mortise::detail::hexadecimal(high) + mortise::detail::hexadecimal(low);
    for (const std::size_t dash : {8u, 13u, 18u, 23u})
        text.insert(dash, 1, '-');
    return text;
}

void message::under(std::string_view lock, const fencing_token& held) {
    headers.emplace_back(std::string(lock_header), lock_token(std::string(lock), held).text());
}

fencing_token message::token_of(std::string_view lock) const {
    for (const auto& each : headers) {
        if (each.name != lock_header)
            continue;
        if (const auto read = lock_token::parse(each.value); read && read->name == lock)
            return read->token;
    }
    return {};
}

const std::string* message::find_header(std::string_view name) const noexcept {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const header& each) {
        return each.name == name;
    });
    return found == headers.end() ? nullptr : &found->value;
}

}  // namespace mortise::outbox
