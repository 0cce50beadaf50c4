// SPDX-License-Identifier: BSL-1.0
#include "processor/dead_letter.hpp"

#include <utility>

namespace mortise::kafka {

record dead_letter_of(const std::string& topic, const consumed_record& source, std::string why) {
    record letter(topic, source.key, source.value);
    letter.headers = source.headers;
    letter.headers.emplace_back("mortise-dead-topic", source.from.topic);
    letter.headers.emplace_back("mortise-dead-partition", std::to_string(source.from.partition));
    letter.headers.emplace_back("mortise-dead-offset", std::to_string(source.offset));
    letter.headers.emplace_back("mortise-dead-reason", std::move(why));
    if (source.timestamp >= 0)
        letter.timestamp = source.timestamp;
    return letter;
}

}  // namespace mortise::kafka
