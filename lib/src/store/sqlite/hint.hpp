// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_HINT_HPP
#define MORTISE_STORE_SQLITE_HINT_HPP

#include "core/lock_rows.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mortise::store_detail {

/// What one process whispers to another: a reason to look, never to be believed. Only rows grant.
struct hint {
    enum class kind : std::uint8_t {
        granted = 1,  ///< `request` may have been granted.
        contended,    ///< Somebody may wait for what `request` holds.
        changed,      ///< Something of the session may have changed, or the session may be dead.
        ring,         ///< Somebody came or went: look whom to watch.
        stirred,      ///< Some lock may have changed, and the session watches.
    };

    kind what = kind::changed;
    core::session_key session = 0;  ///< The session that it is for.
    request_id request = 0;

    friend bool operator==(const hint&, const hint&) noexcept = default;
};

inline constexpr std::size_t hint_bytes = 24;

std::array<std::byte, hint_bytes> encode(const hint& hint) noexcept;

/// Nothing if the datagram is not one of ours.
std::optional<hint> decode(std::span<const std::byte> datagram) noexcept;

}  // namespace mortise::store_detail

#endif
