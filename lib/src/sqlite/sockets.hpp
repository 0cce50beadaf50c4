// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_SQLITE_SOCKETS_HPP
#define MORTISE_SQLITE_SOCKETS_HPP

#include "mortise/coro/assert.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::sqlite_detail {

class side_folder;

/// The address of a Unix socket.
class socket_address {
public:
    /// A path that is short enough for the system: see `side_folder::short_path`.
    explicit socket_address(const std::string& path) noexcept {
        MORTISE_ASSERT(path.size() < sizeof raw_.sun_path);
        raw_.sun_family = AF_UNIX;
        path.copy(raw_.sun_path, path.size());
    }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&raw_); }
    static constexpr socklen_t size() noexcept { return sizeof(sockaddr_un); }

private:
    sockaddr_un raw_{};
};

/// The names of a session's sockets: 16 hexadecimal digits, and an ending that says what it is.
std::string inbox_name(std::uint64_t nonce);
std::string life_name(std::uint64_t nonce);

/// A Unix socket of that kind, not blocking, close-on-exec; none if the system refuses.
detail::unique_fd make_socket(int kind) noexcept;

/// The two sockets by which others reach a session. Not blocking, close-on-exec.
struct session_sockets {
    session_sockets() = default;

    detail::unique_fd inbox;  ///< Bound datagram socket: hints arrive here.
    detail::unique_fd life;   ///< Listening stream socket: the process lives as long as it listens.
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
    detail::unique_fd connection;
};
probe probe_life(const side_folder& folder, std::uint64_t nonce) noexcept;

}  // namespace mortise::sqlite_detail

#endif
