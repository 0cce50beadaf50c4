// SPDX-License-Identifier: BSL-1.0
#include "mortise/token_domain.hpp"

#include "mortise/coro/assert.hpp"

#include <algorithm>
#include <charconv>

namespace mortise {
namespace {

// Not std::isalnum: the answer must not depend on a locale.
bool allowed(char c) noexcept {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == ':' || c == '#' || c == '-';
}

}  // namespace

std::optional<token_domain> token_domain::parse(std::string_view name) noexcept {
    if (name.empty() || name.size() > size_max || !std::all_of(name.begin(), name.end(), allowed))
        return std::nullopt;
    token_domain domain;
    std::copy(name.begin(), name.end(), domain.text_.begin());
    return domain;
}

token_domain token_domain::of_slot(std::uint32_t slot) const noexcept {
    token_domain domain = *this;
    if (slot == 0)
        return domain;
    char* at = domain.text_.data() + name().size();
    char* const end = domain.text_.data() + size_max;
    MORTISE_ASSERT(at < end);
    *at++ = '#';
    const auto written = std::to_chars(at, end, slot);
    MORTISE_ASSERT(written.ec == std::errc());
    return domain;
}

std::optional<std::uint32_t> token_domain::slot_in(const token_domain& store) const noexcept {
    if (*this == store)
        return 0;
    const auto sign = name().rfind('#');
    if (sign == std::string_view::npos)
        return std::nullopt;
    std::uint32_t slot = 0;
    const char* const end = name().data() + name().size();
    const auto read = std::from_chars(name().data() + sign + 1, end, slot);
    // Write the slot anew and compare, so that a slot has one spelling only.
    if (read.ec != std::errc() || read.ptr != end || slot == 0 ||
        name().substr(0, sign) != store.name() || store.of_slot(slot) != *this)
        return std::nullopt;
    return slot;
}

}  // namespace mortise
