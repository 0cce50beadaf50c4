// SPDX-License-Identifier: BSL-1.0
#include "store/break_note.hpp"

namespace mortise::store_detail {

std::string holders_text(const std::vector<party_view>& first, std::size_t count) {
    std::string text;
    for (const auto& each : first) {
        text += text.empty() ? "" : "; ";
        text += each.host + ", process " + std::to_string(each.pid);
        if (!each.label.empty())
            text += ", " + each.label;
    }
    if (count > first.size())
        text += "; and " + std::to_string(count - first.size()) + " more";
    return text;
}

std::chrono::system_clock::time_point time_of_day() noexcept {
    return std::chrono::system_clock::now();
}

}  // namespace mortise::store_detail
