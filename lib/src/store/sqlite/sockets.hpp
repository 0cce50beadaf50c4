// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SOCKETS_HPP
#define MORTISE_STORE_SQLITE_SOCKETS_HPP

#include "store/sqlite/hint.hpp"
#include "store/sqlite/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace mortise::store_detail {

class side_folder;

/// The names of a session's sockets: 16 hexadecimal digits and what it is.
std::string inbox_name(std::uint64_t nonce);
std::string life_name(std::uint64_t nonce);

/// The two sockets by which others reach a session. Not blocking, close-on-exec.
struct session_sockets {
    session_sockets() = default;

    unique_fd inbox;  ///< Bound datagram socket: hints arrive here.
    unique_fd
        life;  ///< Listening stream socket: as long as it listens, the session's process lives.
    std::size_t inbox_max = 0;  ///< So many datagrams may wait in the inbox; more are lost.
};

/// Makes and binds both. @throws error
session_sockets make_sockets(const side_folder& folder, std::uint64_t nonce);
void remove_sockets(side_folder& folder, std::uint64_t nonce) noexcept;

/// A socket to send hints from. @throws error
unique_fd make_outbox(const side_folder& folder);

/// Sends without waiting. A hint that cannot be sent is lost: its receiver finds out by a
/// heartbeat.
/// @return false if the receiver's queue, or all that this outbox may have under way, was full.
bool send_hint(
    const unique_fd& outbox, const side_folder& folder, std::uint64_t nonce, const hint& what
) noexcept;

/// What a connection attempt to a session's life socket says.
struct probe {
    enum class outcome : std::uint8_t {
        connected,
        refused,  ///< The socket is there and nobody listens: its process is dead. The only proof.
        unknown,  ///< Full, forbidden, removed, out of descriptors: says nothing about death.
    };

    probe() = default;

    outcome what = outcome::unknown;
    unique_fd connection;
};
probe probe_life(const side_folder& folder, std::uint64_t nonce) noexcept;

}  // namespace mortise::store_detail

#endif
