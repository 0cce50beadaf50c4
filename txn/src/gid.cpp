// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/gid.hpp"

#include <charconv>
#include <limits>

namespace mortise::txn {
namespace {

constexpr std::size_t log_digits = 16;

template <class Number>
bool read_all(std::string_view text, Number& into, int base) noexcept {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into, base);
    return failed == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string gid::text() const {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string made(log_digits, '0');
    for (std::size_t i = 0; i < log_digits; ++i)
        made[log_digits - 1 - i] = digits[(log >> (4 * i)) & 0xf];
    return made + '-' + std::to_string(number);
}

std::optional<gid> gid::parse(std::string_view text) noexcept {
    gid made;
    const bool read = text.size() > log_digits + 1 && text[log_digits] == '-' &&
                      read_all(text.substr(0, log_digits), made.log, 16) &&
                      read_all(text.substr(log_digits + 1), made.number, 10);
    constexpr auto last = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    // Accept only the spelling that `text` makes: one transaction, one text.
    if (!read || !made || made.number > last || made.text() != text)
        return std::nullopt;
    return made;
}

}  // namespace mortise::txn
