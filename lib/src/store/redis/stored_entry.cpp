// SPDX-License-Identifier: BSL-1.0
#include "store/redis/stored_entry.hpp"

#include "store/redis/words.hpp"

#include <algorithm>

namespace mortise::store_detail {

std::string mode_text(lock_mode mode) {
    switch (mode.type()) {
    case lock_mode::kind::exclusive:
        break;
    case lock_mode::kind::shared:
        return "s";
    case lock_mode::kind::permits:
        return std::to_string(mode.capacity()).insert(0, 1, 'p');
    }
    return "x";
}

std::optional<lock_mode> parse_mode(std::string_view text) noexcept {
    if (text == "x")
        return lock_mode::exclusive();
    if (text == "s")
        return lock_mode::shared();
    if (text.empty() || text.front() != 'p')
        return std::nullopt;
    words capacity(text.substr(1));
    const auto count = capacity.number<std::uint32_t>();
    if (capacity.failed() || !capacity.at_end() || count == 0 || count > lock_mode::capacity_max)
        return std::nullopt;
    return lock_mode::permits(count);
}

std::string hold_text(std::chrono::milliseconds hold_max) {
    return hold_max == std::chrono::milliseconds::max() ? "-" : std::to_string(hold_max.count());
}

std::optional<std::chrono::milliseconds> parse_hold(std::string_view text) noexcept {
    constexpr std::uint64_t hold_end = 1ull << 53;
    if (text == "-")
        return std::chrono::milliseconds::max();
    words reader(text);
    const auto count = reader.number();
    if (reader.failed() || count >= hold_end)
        return std::nullopt;
    return std::chrono::milliseconds(count);
}

std::optional<stored_entry> stored_entry::parse(std::string_view text) {
    words reader(text);
    stored_entry entry;
    const auto state = reader.next();
    if (state != "w" && state != "g")
        return std::nullopt;
    entry.granted = state == "g";
    const auto mode = parse_mode(reader.next());
    const auto hold = parse_hold(reader.next());
    entry.since = reader.number();
    if (entry.granted) {
        entry.base = reader.base();
        entry.slot = reader.number<std::uint32_t>();
    }
    entry.name = reader.rest();
    if (!mode || !hold || reader.failed() || entry.name.empty() ||
        entry.slot > lock_mode::capacity_max)
        return std::nullopt;
    entry.mode = *mode;
    entry.hold_max = *hold;
    return entry;
}

fencing_token token_of(std::uint64_t base, std::uint32_t slot, const token_domain& domain) {
    return {base << fencing_token::sequence_bits, domain.of_slot(slot)};
}

clock::duration age_of(std::uint64_t since, std::uint64_t now) noexcept {
    constexpr std::uint64_t most = (std::uint64_t{1} << 53) - 1;
    return std::chrono::microseconds(now > since ? std::min(now - since, most) : 0);
}

}  // namespace mortise::store_detail
