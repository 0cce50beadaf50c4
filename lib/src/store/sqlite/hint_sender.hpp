// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_HINT_SENDER_HPP
#define MORTISE_STORE_SQLITE_HINT_SENDER_HPP

#include "core/lock_rows.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mortise::sqlite_detail {
class side_folder;
}

namespace mortise::store_detail {

/// What one process whispers to another: a reason to look, never to be believed. Only rows grant.
struct hint {
    enum class kind : std::uint8_t {
        granted = 1,  ///< `request` may have been granted.
        contended,    ///< Somebody may wait for what `request` holds.
        changed,      ///< Something of the session may have changed, or the session may be dead.
        neighbours,   ///< Somebody came or went: look whom to watch.
        stirred,      ///< Some lock may have changed, and the session watches.
    };

    kind type = kind::changed;
    core::session_key session = 0;  ///< The session that it is for.
    request_id request = 0;

    friend bool operator==(const hint&, const hint&) noexcept = default;
};

inline constexpr std::size_t hint_bytes = 24;

std::array<std::byte, hint_bytes> encode(const hint& hint) noexcept;

/// Nothing if the datagram is not one of ours.
std::optional<hint> decode(std::span<const std::byte> datagram) noexcept;

/// Sends hints to the inboxes of other sessions.
///
/// It stays connected to the inboxes that it wrote to last, because looking up the name of a socket
/// takes longer than sending. Besides, what one receiver has not read yet takes nothing from what
/// others may have under way.
class hint_sender {
public:
    static constexpr std::size_t connections_max = 32;

    /// @throws error
    explicit hint_sender(const sqlite_detail::side_folder& folder);

    /// Sends without waiting. A hint that cannot be sent is lost: its receiver finds out by a
    /// heartbeat.
    /// @return false if the receiver's queue was full.
    bool
    send(const sqlite_detail::side_folder& folder, std::uint64_t nonce, const hint& hint) noexcept;

private:
    struct connection {
        std::uint64_t nonce = 0;
        detail::unique_fd socket;
    };

    int connected(const sqlite_detail::side_folder& folder, std::uint64_t nonce) noexcept;

    detail::unique_fd spare_;              // for when there are no descriptors left
    std::vector<connection> connections_;  // the one that was used last stands last
};

}  // namespace mortise::store_detail

#endif
