// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_token.hpp"

#include "mortise/detail/text.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace mortise {
namespace {

constexpr std::string_view spaces = " \t";

std::string_view trimmed(std::string_view text) noexcept {
    const auto begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(spaces) - begin + 1);
}

std::optional<std::uint64_t> value_of(std::string_view digits) noexcept {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    std::uint64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, failed] = std::from_chars(digits.data(), last, value);
    if (digits.empty() || failed != std::errc() || end != last || value > largest)
        return std::nullopt;
    return value;
}

}  // namespace

std::string lock_token::text() const {
    return detail::percent_encoded(name) + "; " + std::string(token.domain.name()) + "; " +
           std::to_string(token.value);
}

std::optional<lock_token> lock_token::parse(std::string_view text) {
    const auto first = text.find(';');
    const auto second = first == std::string_view::npos ? first : text.find(';', first + 1);
    if (second == std::string_view::npos)
        return std::nullopt;
    const auto name = detail::percent_decoded(trimmed(text.substr(0, first)));
    const auto domain_name = trimmed(text.substr(first + 1, second - first - 1));
    const auto value = value_of(trimmed(text.substr(second + 1)));
    if (!name || !value)
        return std::nullopt;
    lock_token read(*name, {*value, {}});
    if (!domain_name.empty() || *value != 0) {
        const auto domain = token_domain::parse(domain_name);
        if (!domain)
            return std::nullopt;
        read.token.domain = *domain;
    }
    return read;
}

}  // namespace mortise
