// SPDX-License-Identifier: BSL-1.0
#include "secrets.hpp"

#include <algorithm>
#include <array>

namespace mortise::kafka {

bool is_secret(std::string_view setting) noexcept {
    constexpr std::array<std::string_view, 6> marks = {
        "password", "secret", "key.pem", "oauthbearer.config", "token", "jaas"};
    return std::any_of(marks.begin(), marks.end(), [setting](std::string_view mark) {
        return setting.find(mark) != std::string_view::npos;
    });
}

// Sorts longer secrets first: another one may be a part of them.
secrets::secrets(const std::map<std::string, std::string>& settings) {
    for (const auto& [name, value] : settings) {
        if (is_secret(name) && !value.empty())
            values_.push_back(value);
    }
    std::sort(values_.begin(), values_.end(), [](const std::string& a, const std::string& b) {
        return a.size() > b.size();
    });
}

std::string secrets::hide_in(std::string_view text) const {
    constexpr std::string_view stars = "***";
    std::string shown(text);
    for (const std::string& value : values_) {
        for (auto at = shown.find(value); at != std::string::npos;
             at = shown.find(value, at + stars.size()))
            shown.replace(at, value.size(), stars);
    }
    return shown;
}

}  // namespace mortise::kafka
