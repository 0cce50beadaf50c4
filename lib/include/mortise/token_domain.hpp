// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOKEN_DOMAIN_HPP
#define MORTISE_TOKEN_DOMAIN_HPP

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mortise {

/// The name of the source that a fencing token comes from: tokens of two domains have no order.
///
/// A configured name of 1 to 31 characters out of `A-Z a-z 0-9 . _ : # -`, kept inline, so that it
/// is trivially copyable, never collides by hashing and can be read in a log. A store that is given
/// no name uses one made from its own random id.
class token_domain {
public:
    static constexpr std::size_t size_max = 31;
    /// Longest name of a whole store: the domains of its slots are made from it, see `of_slot`.
    static constexpr std::size_t store_size_max = 25;

    /// The empty domain: that of no token at all.
    constexpr token_domain() noexcept = default;

    /// The domain of that name, or nothing if the name breaks the rules above.
    static std::optional<token_domain> parse(std::string_view name) noexcept;

    /// The domain of one slot of a lock that has permits: this name, `#`, the number of the slot.
    /// Slot zero stands for the domain itself. A slot has at most 5 digits, and the name of this
    /// domain at most `store_size_max` characters.
    token_domain of_slot(std::uint32_t slot) const noexcept;

    /// The slot whose domain this is, if it is `store` (zero) or was made from it by `of_slot`.
    std::optional<std::uint32_t> slot_in(const token_domain& store) const noexcept;

    constexpr bool empty() const noexcept { return text_[0] == '\0'; }
    constexpr std::string_view name() const noexcept { return std::string_view(text_.data()); }

    friend bool operator==(const token_domain&, const token_domain&) noexcept = default;

private:
    std::array<char, size_max + 1> text_{};  // always ends in a zero byte
};

}  // namespace mortise

#endif
