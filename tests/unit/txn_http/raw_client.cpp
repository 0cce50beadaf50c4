// SPDX-License-Identifier: BSL-1.0
#include "unit/txn_http/raw_client.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace mortise::test {

raw_client::raw_client(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(port);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
        throw std::system_error(errno, std::generic_category(), "connect");
}

raw_client::~raw_client() {
    ::close(socket_);
}

bool raw_client::send(const std::string& bytes) const {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent == static_cast<ssize_t>(bytes.size());
}

void raw_client::shut() const {
    ::shutdown(socket_, SHUT_WR);
}

bool raw_client::receive() {
    std::array<char, 4'096> bytes{};
    const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got > 0)
        arrived_.append(bytes.data(), static_cast<std::size_t>(got));
    else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        throw std::runtime_error("the server neither answers nor goes");
    return got > 0;
}

std::string raw_client::answer() {
    const std::string length = "Content-Length: ";
    do {
        const auto end = arrived_.find("\r\n\r\n");
        if (end == std::string::npos)
            continue;
        const auto at = arrived_.find(length);
        const std::size_t body =
            at < end ? std::strtoul(arrived_.c_str() + at + length.size(), nullptr, 10) : 0;
        if (arrived_.size() < end + 4 + body)
            continue;
        auto taken = arrived_.substr(0, end + 4 + body);
        arrived_.erase(0, taken.size());
        return taken;
    } while (receive());
    return std::exchange(arrived_, {});
}

std::string raw_client::rest() {
    while (receive()) {
    }
    return std::exchange(arrived_, {});
}

}  // namespace mortise::test
