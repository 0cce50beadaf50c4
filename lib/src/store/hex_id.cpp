// SPDX-License-Identifier: BSL-1.0
#include "store/hex_id.hpp"

#include "mortise/detail/text.hpp"

namespace mortise::store_detail {

std::optional<random_id> parse_hex_id(std::string_view text) noexcept {
    constexpr std::size_t half = 16;
    if (text.size() != 2 * half)
        return std::nullopt;
    const auto high = detail::parse_hexadecimal(text.substr(0, half));
    const auto low = detail::parse_hexadecimal(text.substr(half));
    if (!high || !low)
        return std::nullopt;
    return random_id{*high, *low};
}

random_id incarnation_of(std::string_view run_id) noexcept {
    return parse_hex_id(run_id.substr(0, 32)).value_or(random_id());
}

std::string short_name(const session_id& id) {
    static constexpr char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string name;
    for (unsigned shift = 0; shift < 48; shift += 6)
        name += letters[(id.high >> shift) & 63];
    return name;
}

}  // namespace mortise::store_detail
