// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_GID_HPP
#define MORTISE_TXN_GID_HPP

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::txn {

/// The id of a transaction, the same for all who take part in it: the random id of its log, and a
/// number that grows from one transaction of that log to the next.
///
/// As text: 16 hexadecimal digits, a minus sign, the number: `5f0c3a9be1d27746-42`.
struct gid {
    std::uint64_t log = 0;
    std::uint64_t number = 0;  ///< From 1; below 2^63.

    constexpr explicit operator bool() const noexcept { return number != 0; }
    friend constexpr auto operator<=>(const gid&, const gid&) noexcept = default;

    std::string text() const;
    /// @return nothing unless the text has the form that `text()` makes.
    static std::optional<gid> parse(std::string_view text) noexcept;
};

}  // namespace mortise::txn

#endif
