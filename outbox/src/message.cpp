// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/message.hpp"

#include "mortise/lock_token.hpp"
#include "mortise/store_types.hpp"
#include "wall_clock.hpp"

#include <algorithm>
#include <cstdint>

namespace mortise::outbox {
namespace {

// The same header as for participants over HTTP.
constexpr std::string_view lock_header = "mortise-lock";

}  // namespace

// The parts: 48 bits of milliseconds, the version, 12 random bits, the variant, 62 random bits.
std::string message::draw_id() {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto time = wall_now() / 1'000;
    const auto random = random_id::draw();
    const std::uint64_t high =
        static_cast<std::uint64_t>(time) << 16u | 0x7000u | (random.high & 0x0fffu);
    const std::uint64_t low = std::uint64_t{1} << 63u | random.low >> 2u;
    std::string text;
    text.reserve(36);
    for (unsigned i = 0; i < 32; ++i) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            text += '-';
        const std::uint64_t half = i < 16 ? high : low;
        text += digits[half >> (60u - i % 16 * 4) & 15u];
    }
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
