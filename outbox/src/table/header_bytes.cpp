// SPDX-License-Identifier: BSL-1.0
#include "table/header_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mortise::outbox::table {
namespace {

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

}  // namespace

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

}  // namespace mortise::outbox::table
