// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/gid.hpp"

#include "mortise/detail/text.hpp"

#include <charconv>
#include <limits>

namespace mortise::txn {
namespace {

constexpr std::size_t log_digits = 16;

}  // namespace

std::string gid::text() const {
    return mortise::detail::hexadecimal(log) + '-' + std::to_string(number);
}

std::optional<gid> gid::parse(std::string_view text) noexcept {
    if (text.size() <= log_digits + 1 || text[log_digits] != '-')
        return std::nullopt;
    const auto log = mortise::detail::parse_hexadecimal(text.substr(0, log_digits));
    gid id;
    id.log = log.value_or(0);
    const auto number = text.substr(log_digits + 1);
    const char* const last_digit = number.data() + number.size();
    const auto [end, wrong] = std::from_chars(number.data(), last_digit, id.number);
    const bool read = log && wrong == std::errc() && end == last_digit;
    constexpr auto last = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    // Accept only the spelling that `text` makes: one transaction, one text.
    if (!read || !id || id.number > last || id.text() != text)
        return std::nullopt;
    return id;
}

}  // namespace mortise::txn
