// SPDX-License-Identifier: BSL-1.0
#include "processor/dead_letter.hpp"

#include <utility>

namespace mortise::kafka {

record dead_letter_of(const std::string& topic, const consumed_record& what, std::string why) {
    record made(topic, what.key, what.value);
    made.headers = what.headers;
    made.headers.emplace_back("mortise-dead-topic", what.from.topic);
    made.headers.emplace_back("mortise-dead-partition", std::to_string(what.from.partition));
    made.headers.emplace_back("mortise-dead-offset", std::to_string(what.offset));
    made.headers.emplace_back("mortise-dead-reason", std::move(why));
    if (what.timestamp >= 0)
        made.timestamp = what.timestamp;
    return made;
}

}  // namespace mortise::kafka
