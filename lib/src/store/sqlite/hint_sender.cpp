// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/hint_sender.hpp"

#include "sqlite/failure.hpp"
#include "sqlite/side_folder.hpp"
#include "sqlite/sockets.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mortise::store_detail {

using sqlite_detail::failure_of_call;
using sqlite_detail::inbox_name;
using sqlite_detail::make_socket;
using sqlite_detail::side_folder;
using sqlite_detail::socket_address;

namespace {

constexpr int at_once = MSG_DONTWAIT | MSG_NOSIGNAL;
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

hint_sender::hint_sender(const side_folder& folder) : spare_(make_socket(SOCK_DGRAM)) {
    if (!spare_)
        throw failure_of_call(errno, "making a socket", folder.path());
    connections_.reserve(connections_max);
}

bool hint_sender::send(const side_folder& folder, std::uint64_t nonce, const hint& hint) noexcept {
    const auto bytes = encode(hint);
    if (const int fd = connected(folder, nonce); fd >= 0) {
        if (::send(fd, bytes.data(), bytes.size(), at_once) >= 0)
            return true;
        if (errno == EAGAIN)
            return false;
        connections_.pop_back();  // Nobody reads there any longer.
        return true;
    }
    const socket_address to(folder.short_path(inbox_name(nonce)));
    const auto sent =
        ::sendto(spare_.get(), bytes.data(), bytes.size(), at_once, to.get(), to.size());
    return sent >= 0 || errno != EAGAIN;
}

int hint_sender::connected(const side_folder& folder, std::uint64_t nonce) noexcept {
    const auto known =
        std::find_if(connections_.begin(), connections_.end(), [nonce](const auto& each) {
            return each.nonce == nonce;
        });
    if (known != connections_.end()) {
        std::rotate(known, known + 1, connections_.end());
        return connections_.back().socket.get();
    }
    detail::unique_fd socket = make_socket(SOCK_DGRAM);
    const socket_address to(folder.short_path(inbox_name(nonce)));
    if (!socket || ::connect(socket.get(), to.get(), to.size()) != 0)
        return -1;
    if (connections_.size() == connections_max)
        connections_.erase(connections_.begin());
    connections_.push_back({nonce, std::move(socket)});
    return connections_.back().socket.get();
}

std::array<std::byte, hint_bytes> encode(const hint& hint) noexcept {
    const wire raw{
        hint_magic,
        hint_version,
        static_cast<std::uint8_t>(hint.type),
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
