// SPDX-License-Identifier: BSL-1.0
#include "table/key_hash.hpp"

#include <cstddef>

namespace mortise::outbox::table {
namespace {

constexpr std::uint32_t seed = 0x9747b28c;
constexpr std::uint32_t factor = 0x5bd1e995;

std::uint32_t byte_at(std::string_view key, std::size_t at) noexcept {
    return static_cast<unsigned char>(key[at]);
}

}  // namespace

std::uint32_t key_hash(std::string_view key) noexcept {
    std::uint32_t hash = seed ^ static_cast<std::uint32_t>(key.size());
    std::size_t at = 0;
    for (; key.size() - at >= 4; at += 4) {
        std::uint32_t word = byte_at(key, at) | byte_at(key, at + 1) << 8u |
                             byte_at(key, at + 2) << 16u | byte_at(key, at + 3) << 24u;
        word *= factor;
        word ^= word >> 24u;
        word *= factor;
        hash = hash * factor ^ word;
    }
    const std::size_t rest = key.size() - at;
    for (std::size_t i = rest; i > 0; --i)
        hash ^= byte_at(key, at + i - 1) << (8u * (i - 1));
    if (rest > 0)
        hash *= factor;
    hash ^= hash >> 13u;
    hash *= factor;
    hash ^= hash >> 15u;
    return hash & 0x7fffffffu;
}

}  // namespace mortise::outbox::table
