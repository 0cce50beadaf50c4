// SPDX-License-Identifier: BSL-1.0
#include "wire/field_values.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace mortise::txn::http {

bool is_field_value(std::string_view text) noexcept {
    if (text.empty() || text.front() == ' ' || text.back() == ' ')
        return false;
    return std::all_of(text.begin(), text.end(), [](char each) {
        return each >= ' ' && each <= '~';
    });
}

std::optional<std::uint64_t> decimal(std::string_view text, std::uint64_t max) noexcept {
    std::uint64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failed != std::errc() || end != text.data() + text.size() || value > max)
        return std::nullopt;
    return value;
}

}  // namespace mortise::txn::http
