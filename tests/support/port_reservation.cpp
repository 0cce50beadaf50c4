// SPDX-License-Identifier: BSL-1.0
#include "support/port_reservation.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace mortise::test {

port_reservation::port_reservation() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof name;
    const int yes = 1;
    // The option comes after the bind: a port that another process has reserved is not given to us,
    // although that process lets others listen there.
    if (socket_ < 0 || ::bind(socket_, address, size) != 0 ||
        ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::getsockname(socket_, address, &size) != 0) {
        const int reason = errno;
        ::close(socket_);
        throw std::system_error(reason, std::generic_category(), "no port can be reserved");
    }
    port_ = ntohs(name.sin_port);
}

port_reservation::~port_reservation() {
    ::close(socket_);
}

}  // namespace mortise::test
