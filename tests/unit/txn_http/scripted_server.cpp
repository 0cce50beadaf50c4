// SPDX-License-Identifier: BSL-1.0
#include "unit/txn_http/scripted_server.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace mortise::test {
namespace {

int checked(int got, const char* function) {
    if (got < 0)
        throw std::system_error(errno, std::generic_category(), function);
    return got;
}

std::string value_of(const std::string& request, const std::string& name) {
    const auto at = request.find("\r\n" + name + ": ");
    if (at == std::string::npos)
        return {};
    const auto begin = at + 2 + name.size() + 2;
    return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string filled_in(std::string bytes, const std::string& request) {
    const std::string mark = "$CALL";
    for (auto at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark))
        bytes.replace(at, mark.size(), value_of(request, "mortise-call"));
    return bytes;
}

}  // namespace

scripted_server::scripted_server(std::vector<script> connections)
    : scripts_(std::move(connections)),
      socket_(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")),
      stop_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    checked(::bind(socket_, reinterpret_cast<sockaddr*>(&here), size), "bind");
    checked(::listen(socket_, 64), "listen");
    checked(::getsockname(socket_, reinterpret_cast<sockaddr*>(&here), &size), "getsockname");
    port_ = ntohs(here.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

scripted_server::~scripted_server() {
    const std::uint64_t one = 1;
    if (::write(stop_, &one, sizeof one) != sizeof one)
        std::abort();
    acceptor_.join();
    for (auto& each : players_)
        each.join();
    ::close(socket_);
    ::close(stop_);
}

std::vector<std::string> scripted_server::requests() const {
    const std::lock_guard hold(mutex_);
    return requests_;
}

std::string scripted_server::answer(
    const std::string& status, const std::string& lines, const std::string& body
) {
    return "HTTP/1.1 " + status + "\r\n" + lines +
           "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string scripted_server::done(const std::string& body) {
    return answer("200 OK", "mortise-call: $CALL\r\nmortise-verdict: done\r\n", body);
}

// False when the server is to end.
bool scripted_server::wait(int on) const {
    std::array<pollfd, 2> both{{{on, POLLIN, 0}, {stop_, POLLIN, 0}}};
    while (::poll(both.data(), both.size(), -1) < 0) {
    }
    return both[1].revents == 0;
}

void scripted_server::accept_all() {
    while (wait(socket_)) {
        const int on = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
        if (on < 0)
            continue;
        const auto index = std::min(connections_++, scripts_.size() - 1);
        players_.emplace_back([this, on, index] { play(on, scripts_[index]); });
    }
}

std::string scripted_server::read_request(int on, std::string& arrived) const {
    for (;;) {
        const auto end = arrived.find("\r\n\r\n");
        if (end != std::string::npos) {
            const auto length = value_of(arrived, "Content-Length");
            const auto size = end + 4 + std::strtoul(length.c_str(), nullptr, 10);
            if (arrived.size() >= size) {
                const auto taken = arrived.substr(0, size);
                arrived.erase(0, size);
                return taken;
            }
        }
        std::array<char, 4'096> bytes{};
        if (!wait(on))
            return {};
        const auto got = ::recv(on, bytes.data(), bytes.size(), 0);
        if (got <= 0)
            return {};
        arrived.append(bytes.data(), static_cast<std::size_t>(got));
    }
}

void scripted_server::play(int on, const script& steps) {
    std::string arrived;
    for (const auto& each : steps) {
        const auto request = read_request(on, arrived);
        if (request.empty())
            break;
        {
            const std::lock_guard hold(mutex_);
            requests_.push_back(request);
        }
        const auto bytes = filled_in(each.bytes, request);
        static_cast<void>(::send(on, bytes.data(), bytes.size(), MSG_NOSIGNAL));
        if (each.after == then::hang)
            read_request(on, arrived);
        if (each.after == then::reset) {
            const linger now{1, 0};
            ::setsockopt(on, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        if (each.after != then::go_on)
            break;
    }
    ::close(on);
    ++ended_;
}

}  // namespace mortise::test
