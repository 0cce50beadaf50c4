// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/redis_process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace flash_sale {
namespace {

constexpr int not_found = 127;  // as in shells
constexpr int tries = 5;        // another process may take the port first
constexpr std::chrono::milliseconds look_step{10};
constexpr int steps_max = 1'000;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return name;
}

/// Finds a port of 127.0.0.1 that is free at present.
std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name = loopback(0);
    auto* const address = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof name;
    const bool found = socket >= 0 && ::bind(socket, address, size) == 0 &&
                       ::getsockname(socket, address, &size) == 0;
    if (socket >= 0)
        ::close(socket);
    if (!found)
        throw std::runtime_error("no port is free");
    return ntohs(name.sin_port);
}

bool answers_ping(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval answer_time{1, 0};
    const sockaddr_in name = loopback(port);
    constexpr std::string_view ping = "PING\r\n";
    constexpr std::string_view pong = "+PONG";
    std::array<char, pong.size()> reply{};
    const bool answered =
        socket >= 0 &&
        ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &answer_time, sizeof answer_time) == 0 &&
        ::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 &&
        ::send(socket, ping.data(), ping.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(ping.size()) &&
        ::recv(socket, reply.data(), reply.size(), MSG_WAITALL) ==
            static_cast<ssize_t>(reply.size());
    if (socket >= 0)
        ::close(socket);
    return answered && std::string_view(reply.data(), reply.size()) == pong;
}

}  // namespace

redis_process::redis_process(const std::filesystem::path& folder) {
    for (int i = 0; i < tries; ++i) {
        port_ = free_port();
        start(folder);
        if (await_answer())
            return;
        end();
        if (exit_code_ == not_found)
            throw std::runtime_error(
                "there is no redis-server on the PATH; `./run demo --store redis` finds that of "
                "Debian's redis-tools, and --store redis://HOST:PORT takes one that runs"
            );
    }
    throw std::runtime_error("the Redis server does not answer");
}

redis_process::~redis_process() {
    end();
}

void redis_process::start(const std::filesystem::path& folder) {
    std::vector<std::string> words{
        "redis-server",
        "--bind",
        "127.0.0.1",
        "--port",
        std::to_string(port_),
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        folder.native(),
        "--logfile",
        (folder / "redis.log").native()};
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error("no process can be started");
    if (pid_ > 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Keep Ctrl-C from the server: the sale still needs it to end in order.
    if (::getppid() == parent && ::setpgid(0, 0) == 0) {
        const int nowhere = ::open("/dev/null", O_RDWR);
        if (nowhere >= 0 && ::dup2(nowhere, STDIN_FILENO) >= 0 &&
            ::dup2(nowhere, STDOUT_FILENO) >= 0)
            ::execvp(pointers[0], pointers.data());
    }
    ::_exit(not_found);
}

bool redis_process::await_answer() {
    for (int i = 0; i < steps_max && !has_ended(); ++i) {
        if (answers_ping(port_) && !has_ended())
            return true;
        std::this_thread::sleep_for(look_step);
    }
    return false;
}

bool redis_process::has_ended() {
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    }
    return pid_ <= 0;
}

void redis_process::end() noexcept {
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);  // it has nothing to save
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

}  // namespace flash_sale
