// SPDX-License-Identifier: BSL-1.0
#include "outbox/message_json.hpp"

#include "common/printable.hpp"

#include <iomanip>
#include <ostream>
#include <sstream>
#include <utility>

namespace mortise::tool {

void set_bytes_or_null(
    json::object& object, std::string_view key, const std::optional<std::string>& bytes
) {
    if (bytes)
        set_bytes(object, key, *bytes);
    else
        object[key] = nullptr;
}

void set_message_head(json::object& object, const outbox::message& message) {
    set_bytes(object, "id", message.id);
    set_bytes(object, "topic", message.topic);
    set_bytes_or_null(object, "key", message.key);
    if (message.payload)
        object["payload_size"] = message.payload->size();
    else
        object["payload_size"] = nullptr;
}

void set_message_body(json::object& object, const outbox::message& message) {
    set_bytes_or_null(object, "payload", message.payload);
    json::array headers;
    for (const auto& each : message.headers) {
        json::object one;
        set_bytes(one, "name", each.name);
        set_bytes(one, "value", each.value);
        headers.push_back(std::move(one));
    }
    object["headers"] = std::move(headers);
}

void write_message_body(std::ostream& out, const outbox::message& message) {
    for (const auto& each : message.headers)
        out << "header " << printable(each.name) << ": " << printable(each.value) << '\n';
    if (message.payload)
        out << "payload, " << message.payload->size() << " bytes: " << printable(*message.payload)
            << '\n';
    else
        out << "no payload: a tombstone\n";
}

std::string key_text(const outbox::message& message) {
    return message.key ? printable(*message.key) : "-";
}

double seconds_of(std::chrono::microseconds span) {
    return std::chrono::duration<double>(span).count();
}

std::string seconds_text(std::chrono::microseconds span) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(3) << seconds_of(span) << " s";
    return text.str();
}

}  // namespace mortise::tool
