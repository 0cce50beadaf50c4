// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_SOCKET_ADDRESS_HPP
#define MORTISE_STORE_SQLITE_SOCKET_ADDRESS_HPP

#include "mortise/coro/assert.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace mortise::store_detail {

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

}  // namespace mortise::store_detail

#endif
