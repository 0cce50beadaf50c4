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

void set_message_head(json::object& object, const outbox::message& what) {
    set_bytes(object, "id", what.id);
    set_bytes(object, "topic", what.topic);
    set_bytes_or_null(object, "key", what.key);
    if (what.payload)
        object["payload_size"] = what.payload->size();
    else
        object["payload_size"] = nullptr;
}

void set_message_body(json::object& object, const outbox::message& what) {
    set_bytes_or_null(object, "payload", what.payload);
    json::array headers;
    for (const auto& each : what.headers) {
        json::object one;
        set_bytes(one, "name", each.name);
        set_bytes(one, "value", each.value);
        headers.push_back(std::move(one));
    }
    object["headers"] = std::move(headers);
}

void write_message_body(std::ostream& out, const outbox::message& what) {
    for (const auto& each : what.headers)
        out << "header " << printable(each.name) << ": " << printable(each.value) << '\n';
    if (what.payload)
        out << "payload, " << what.payload->size() << " bytes: " << printable(*what.payload)
            << '\n';
    else
        out << "no payload: a tombstone\n";
}

std::string key_text(const outbox::message& what) {
    return what.key ? printable(*what.key) : "-";
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
