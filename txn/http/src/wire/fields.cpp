// SPDX-License-Identifier: BSL-1.0
#include "wire/fields.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace mortise::txn::http {
namespace {

char lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

bool same_name(std::string_view left, std::string_view right) noexcept {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return lower(a) == lower(b);
    });
}

bool is_field_name(std::string_view text) noexcept {
    static constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) {
        const char small = lower(each);
        return (small >= 'a' && small <= 'z') || (each >= '0' && each <= '9') ||
               others.find(each) != std::string_view::npos;
    });
}

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
