// SPDX-License-Identifier: BSL-1.0
#include "table/message_columns.hpp"

#include "mortise/outbox/error.hpp"
#include "table/key_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mortise::outbox::table {
namespace {

constexpr std::size_t topic_max = 249;
constexpr std::size_t text_max = 255;
constexpr std::size_t headers_max = 1'024;
constexpr std::size_t message_max = std::size_t{64} << 20u;

std::string size_text(const char* part, std::size_t size) {
    return std::string(part) + " of " + std::to_string(size) + " bytes";
}

constexpr std::size_t length_size = 4;

void write(std::string& into, std::string_view part) {
    auto size = static_cast<std::uint32_t>(part.size());
    for (std::size_t i = 0; i < length_size; ++i) {
        into += static_cast<char>(size & 0xffu);
        size >>= 8u;
    }
    into += part;
}

bool read(std::string_view& from, std::string& into) {
    if (from.size() < length_size)
        return false;
    std::uint32_t size = 0;
    for (std::size_t i = length_size; i > 0; --i)
        size = size << 8u | static_cast<unsigned char>(from[i - 1]);
    from.remove_prefix(length_size);
    if (from.size() < size)
        return false;
    into = from.substr(0, size);
    from.remove_prefix(size);
    return true;
}

void bind(db::statement& to, const std::optional<std::string>& bytes) {
    if (bytes)
        to.bind_bytes(*bytes);
    else
        to.bind(nullptr);
}

void read_without_headers(const db::statement& row, int column, message& into) {
    into.id = row.text(column + id_column);
    into.topic = row.text(column + topic_column);
    into.key = row.text_or_null(column + key_column);
    into.payload = row.text_or_null(column + payload_column);
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

std::string bytes_of(const std::vector<header>& headers) {
    std::string bytes;
    for (const auto& each : headers) {
        write(bytes, each.name);
        write(bytes, each.value);
    }
    return bytes;
}

std::optional<std::vector<header>> headers_in(std::string_view bytes) {
    std::vector<header> headers;
    while (!bytes.empty()) {
        header next;
        if (!read(bytes, next.name) || !read(bytes, next.value))
            return std::nullopt;
        headers.push_back(std::move(next));
    }
    return headers;
}

std::uint32_t hash_of(std::string_view id, const std::optional<std::string>& key) noexcept {
    return key_hash(key ? std::string_view(*key) : id);
}

void bind_message(db::statement& to, const message& message) {
    to.bind(std::string_view(message.id)).bind(std::string_view(message.topic));
    bind(to, message.key);
    bind(to, message.payload);
    if (message.headers.empty())
        to.bind(nullptr);
    else
        to.bind_bytes(bytes_of(message.headers));
}

bool read_message(const db::statement& row, int column, message& into) {
    read_without_headers(row, column, into);
    const auto bytes = row.text_or_null(column + headers_column);
    if (!bytes)
        return true;
    auto headers = headers_in(*bytes);
    if (headers)
        into.headers = std::move(*headers);
    return headers.has_value();
}

message without_headers_at(const db::statement& row, int column) {
    message result;
    read_without_headers(row, column, result);
    return result;
}

std::optional<message> message_at(const db::statement& row, int column) {
    message result;
    if (!read_message(row, column, result))
        return std::nullopt;
    return result;
}

}  // namespace mortise::outbox::table
