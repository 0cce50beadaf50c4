// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/hint.hpp"

#include <cstring>

namespace mortise::store_detail {
namespace {

constexpr std::uint32_t hint_magic = 0x74726f6d;  // "mort"
constexpr std::uint8_t hint_version = 1;

// Goes only between processes of one host, so the native byte order will do.
struct wire {
    std::uint32_t magic;
    std::uint8_t version;
    std::uint8_t kind;
    std::uint16_t unused;
    std::uint64_t session;
    std::uint64_t request;
};
static_assert(sizeof(wire) == hint_bytes);

}  // namespace

std::array<std::byte, hint_bytes> encode(const hint& hint) noexcept {
    const wire raw{
        hint_magic,
        hint_version,
        static_cast<std::uint8_t>(hint.what),
        0,
        hint.session,
        hint.request};
    std::array<std::byte, hint_bytes> bytes;
    std::memcpy(bytes.data(), &raw, bytes.size());
    return bytes;
}

std::optional<hint> decode(std::span<const std::byte> datagram) noexcept {
    wire raw;
    if (datagram.size() != sizeof raw)
        return std::nullopt;
    std::memcpy(&raw, datagram.data(), sizeof raw);
    if (raw.magic != hint_magic || raw.version != hint_version ||
        raw.kind < static_cast<std::uint8_t>(hint::kind::granted) ||
        raw.kind > static_cast<std::uint8_t>(hint::kind::stirred))
        return std::nullopt;
    return hint{static_cast<hint::kind>(raw.kind), raw.session, raw.request};
}

}  // namespace mortise::store_detail
