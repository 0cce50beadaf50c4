// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_STORED_ENTRY_HPP
#define MORTISE_STORE_REDIS_STORED_ENTRY_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/lock_mode.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::store_detail {

/// An entry of a session as the scripts tell it: "w MODE HOLD SINCE NAME" of a request that waits,
/// "g MODE HOLD SINCE BASE SLOT NAME" of a grant.
struct stored_entry {
    stored_entry() = default;

    bool granted = false;
    lock_mode mode;
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
    std::uint64_t since = 0;  ///< Microseconds of the server's clock.
    std::uint64_t base = 0;
    std::uint32_t slot = 0;
    std::string name;

    /// Nothing if no script writes such a text.
    static std::optional<stored_entry> parse(std::string_view text);
};

/// A mode as the scripts write it: x, s, or p and the number of permits.
std::string mode_text(lock_mode mode);
std::optional<lock_mode> parse_mode(std::string_view text) noexcept;

/// For how long a grant is kept, as the scripts say it: milliseconds, or - if it has no end.
std::string hold_text(std::chrono::milliseconds hold_max);
std::optional<std::chrono::milliseconds> parse_hold(std::string_view text) noexcept;

/// The token of a base that the server wrote. `slot` must not be above `lock_mode::capacity_max`.
fencing_token token_of(std::uint64_t base, std::uint32_t slot, const token_domain& domain);

/// The time from `since` to `now`, both of the server's clock, limited to what a duration can hold:
/// a corrupt store may say anything.
clock::duration age_of(std::uint64_t since, std::uint64_t now) noexcept;

}  // namespace mortise::store_detail

#endif
