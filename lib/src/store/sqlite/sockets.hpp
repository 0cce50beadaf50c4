// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SOCKETS_HPP
#define MORTISE_STORE_SQLITE_SOCKETS_HPP

#include "store/sqlite/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::store_detail {

class side_folder;

/// The names of a session's sockets: 16 hexadecimal digits, and an ending that says what it is.
std::string inbox_name(std::uint64_t nonce);
std::string life_name(std::uint64_t nonce);

/// A Unix socket of that kind, not blocking, close-on-exec; none if the system refuses.
unique_fd make_socket(int kind) noexcept;

/// The two sockets by which others reach a session. Not blocking, close-on-exec.
struct session_sockets {
    session_sockets() = default;

    unique_fd inbox;  ///< Bound datagram socket: hints arrive here.
    unique_fd life;   ///< Listening stream socket: the process lives as long as it listens.
    std::size_t inbox_max = 0;  ///< How many datagrams may wait in the inbox; more are lost.
};

/// Makes and binds both. @throws error
session_sockets make_sockets(const side_folder& folder, std::uint64_t nonce);
void remove_sockets(side_folder& folder, std::uint64_t nonce) noexcept;

/// What an attempt to connect to a session's life socket shows.
struct probe {
    enum class outcome : std::uint8_t {
        connected,
        refused,  ///< The socket exists and nobody listens: its process is dead. The only proof.
        unknown,  ///< Full, forbidden, removed, out of descriptors: says nothing about death.
    };

    probe() = default;

    outcome result = outcome::unknown;
    unique_fd connection;
};
probe probe_life(const side_folder& folder, std::uint64_t nonce) noexcept;

}  // namespace mortise::store_detail

#endif
