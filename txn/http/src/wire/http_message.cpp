// SPDX-License-Identifier: BSL-1.0
#include "mortise/txn/http/http_message.hpp"

#include "wire/fields.hpp"

#include <algorithm>

namespace mortise::txn {

bool http_header_list::has(std::string_view name) const noexcept {
    return std::any_of(fields_.begin(), fields_.end(), [name](const auto& each) {
        return http::same_name(each.first, name);
    });
}

std::optional<std::string_view> http_header_list::one(std::string_view name) const noexcept {
    std::optional<std::string_view> found;
    for (const auto& [key, value] : fields_) {
        if (!http::same_name(key, name))
            continue;
        if (found)
            return std::nullopt;
        found = value;
    }
    return found;
}

std::vector<std::string_view> http_header_list::all(std::string_view name) const {
    std::vector<std::string_view> found;
    for (const auto& [key, value] : fields_) {
        if (http::same_name(key, name))
            found.emplace_back(value);
    }
    return found;
}

}  // namespace mortise::txn
