// SPDX-License-Identifier: BSL-1.0
#include "order/service_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace order {
namespace {

constexpr int not_found = 127;  // as in shells

std::string line_of(int from) {
    std::string line;
    for (char each = 0; ::read(from, &each, 1) == 1 && each != '\n';)
        line += each;
    return line;
}

}  // namespace

service_process::service_process(std::filesystem::path folder, std::string service)
    : folder_(std::move(folder)), service_(std::move(service)) {
    start();
}

void service_process::kill_and_start_again() {
    reap(SIGKILL);
    start();
}

void service_process::end() noexcept {
    reap(SIGTERM);
}

void service_process::start() {
    std::array<int, 2> says{};
    if (::pipe2(says.data(), O_CLOEXEC) != 0)
        throw std::runtime_error("there is no pipe");
    const std::string port = std::to_string(port_);
    const char* const arguments[] = {
        "order", "--service", service_.c_str(), folder_.c_str(), port.c_str(), nullptr};
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::dup2(says[1], STDOUT_FILENO) >= 0)
            ::execv("/proc/self/exe", const_cast<char* const*>(arguments));
        ::_exit(not_found);
    }
    ::close(says[1]);
    const auto bound_port = pid_ > 0 ? std::strtoul(line_of(says[0]).c_str(), nullptr, 10) : 0;
    ::close(says[0]);
    if (bound_port == 0 || bound_port > 65'535)
        throw std::runtime_error("the " + service_ + " does not start");
    port_ = static_cast<std::uint16_t>(bound_port);
}

void service_process::reap(int signal) noexcept {
    const pid_t ending = std::exchange(pid_, -1);
    if (ending <= 0 || ::kill(ending, signal) != 0)
        return;
    while (::waitpid(ending, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace order
