// SPDX-License-Identifier: BSL-1.0
#include "mortise/token_domain.hpp"

#include <algorithm>

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

}  // namespace mortise
