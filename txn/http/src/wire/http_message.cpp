// SPDX-License-Identifier: BSL-1.0
#include "wire/http_message.hpp"

#include <algorithm>

namespace mortise::txn::http {
namespace {

char lower(char letter) noexcept {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_name(std::string_view left, std::string_view right) noexcept {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return lower(a) == lower(b);
    });
}

}  // namespace

bool header_list::has(std::string_view name) const noexcept {
    return std::any_of(fields_.begin(), fields_.end(), [name](const auto& each) {
        return same_name(each.first, name);
    });
}

std::optional<std::string_view> header_list::one(std::string_view name) const noexcept {
    std::optional<std::string_view> found;
    for (const auto& [key, value] : fields_) {
        if (!same_name(key, name))
            continue;
        if (found)
            return std::nullopt;
        found = value;
    }
    return found;
}

std::vector<std::string_view> header_list::all(std::string_view name) const {
    std::vector<std::string_view> found;
    for (const auto& [key, value] : fields_) {
        if (same_name(key, name))
            found.emplace_back(value);
    }
    return found;
}

}  // namespace mortise::txn::http
