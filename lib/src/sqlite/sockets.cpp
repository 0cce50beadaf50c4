// SPDX-License-Identifier: BSL-1.0
#include "sqlite/sockets.hpp"

#include "mortise/detail/text.hpp"
#include "sqlite/failure.hpp"
#include "sqlite/host_facts.hpp"
#include "sqlite/side_folder.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

namespace mortise::sqlite_detail {
namespace {

constexpr int backlog = 128;

detail::unique_fd make_bound(const side_folder& folder, int kind, const std::string& name) {
    auto socket = make_socket(kind);
    if (!socket)
        throw failure_of_call(errno, "making a socket", folder.path());
    const socket_address address(folder.short_path(name));
    if (::bind(socket.get(), address.get(), address.size()) != 0)
        throw failure_of_call(errno, "binding a socket", folder.path());
    // The folder keeps others out already; this is for folders whose mode somebody widened.
    ::fchmodat(folder.fd(), name.c_str(), 0600, 0);
    return socket;
}

}  // namespace

detail::unique_fd make_socket(int kind) noexcept {
    return detail::unique_fd(::socket(AF_UNIX, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::string inbox_name(std::uint64_t nonce) {
    return detail::hexadecimal(nonce) + ".d";
}

std::string life_name(std::uint64_t nonce) {
    return detail::hexadecimal(nonce) + ".s";
}

session_sockets make_sockets(const side_folder& folder, std::uint64_t nonce) {
    session_sockets sockets;
    sockets.inbox = make_bound(folder, SOCK_DGRAM, inbox_name(nonce));
    sockets.life = make_bound(folder, SOCK_STREAM, life_name(nonce));
    if (::listen(sockets.life.get(), backlog) != 0)
        throw failure_of_call(errno, "listening on a socket", folder.path());
    sockets.inbox_max = datagram_queue_max();
    return sockets;
}

void remove_sockets(side_folder& folder, std::uint64_t nonce) noexcept {
    folder.remove(inbox_name(nonce));
    folder.remove(life_name(nonce));
}

probe probe_life(const side_folder& folder, std::uint64_t nonce) noexcept {
    probe result;
    result.connection = make_socket(SOCK_STREAM);
    if (!result.connection)
        return result;
    const socket_address address(folder.short_path(life_name(nonce)));
    if (::connect(result.connection.get(), address.get(), address.size()) == 0) {
        result.result = probe::outcome::connected;
        return result;
    }
    if (errno == ECONNREFUSED)
        result.result = probe::outcome::refused;
    result.connection.reset();
    return result;
}

}  // namespace mortise::sqlite_detail
