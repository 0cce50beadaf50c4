// SPDX-License-Identifier: BSL-1.0
#include "parked_list.hpp"

namespace mortise::tool {

void parked_list::add(outbox::row_view row) {
    if (row.message.key) {
        const auto key = std::make_pair(row.message.topic, *row.message.key);
        const auto [place, first] = of_key_.try_emplace(key, messages_.size());
        if (!first && !row.reason) {
            ++messages_[place->second].behind;
            return;
        }
        place->second = messages_.size();
    }
    messages_.push_back({std::move(row), 0});
}

}  // namespace mortise::tool
