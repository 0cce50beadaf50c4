// SPDX-License-Identifier: BSL-1.0
#include "message_check.hpp"

#include "mortise/outbox/error.hpp"

#include <cstddef>
#include <string>

namespace mortise::outbox {
namespace {

constexpr std::size_t topic_max = 249;
constexpr std::size_t text_max = 255;
constexpr std::size_t headers_max = 1'024;
constexpr std::size_t message_max = std::size_t{64} << 20u;

std::string size_text(const char* part, std::size_t size) {
    return std::string(part) + " of " + std::to_string(size) + " bytes";
}

}  // namespace

void check_message(const message& message) {
    if (message.topic.empty() || message.topic.size() > topic_max)
        throw error(
            errc::no_topic,
            size_text("a topic", message.topic.size()),
            message.topic.empty() ? "name one" : "use a shorter name"
        );
    if (message.topic.find('\0') != std::string::npos)
        throw error(errc::no_topic, "a topic with a zero byte in it", "use a name without");
    if (message.id.size() > text_max)
        throw error(
            errc::bad_message_id, size_text("an id", message.id.size()), "use a shorter one"
        );
    if (message.headers.size() > headers_max)
        throw error(
            errc::bad_header, std::to_string(message.headers.size()) + " headers", "use fewer"
        );
    std::size_t size = message.key ? message.key->size() : 0;
    size += message.payload ? message.payload->size() : 0;
    for (const auto& each : message.headers) {
        if (each.name.empty() || each.name.size() > text_max)
            throw error(
                errc::bad_header, size_text("a name", each.name.size()), "use 1 to 255 bytes"
            );
        if (each.name.find('\0') != std::string::npos)
            throw error(errc::bad_header, "a name with a zero byte in it", "use one without");
        size += each.name.size() + each.value.size();
    }
    if (size > message_max)
        throw error(errc::message_too_large, size_text("a message", size), "send a reference");
}

}  // namespace mortise::outbox
