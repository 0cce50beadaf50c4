// SPDX-License-Identifier: BSL-1.0
#include "chaos/actor_place.hpp"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace mortise::test {
namespace {

constexpr uid_t nobody = 65'534;

std::string refused(const char* call) {
    return std::string(call) + ": " + std::strerror(errno);
}

// The outer process waits for the inner one, and ends in the same way.
[[noreturn]] void wait_outside(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

std::string move_to_container() {
    const int user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
    if (::unshare(user | CLONE_NEWPID | CLONE_NEWNS) != 0)
        return refused("unshare");
    const pid_t child = ::fork();
    if (child < 0)
        return refused("fork");
    if (child > 0)
        wait_outside(child);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return refused("mount /");
    // A kernel that refuses a new /proc leaves us the host's, which lists this process as well.
    if (::mount("proc", "/proc", "proc", 0, nullptr) != 0 && user == 0)
        return refused("mount /proc");
    return {};
}

std::string move_to_other_user() {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(nobody, nobody, nobody) != 0 ||
        ::setresuid(nobody, nobody, nobody) != 0)
        return refused("setresuid");
    return {};
}

}  // namespace

const char* word_for(actor_place where) noexcept {
    switch (where) {
    case actor_place::here:
        break;
    case actor_place::container:
        return "container";
    case actor_place::other_user:
        return "other-user";
    }
    return "here";
}

std::string move_to(const std::string& word) {
    if (word == word_for(actor_place::container))
        return move_to_container();
    if (word == word_for(actor_place::other_user))
        return move_to_other_user();
    return {};
}

std::string why_no_container() {
    int says[2];
    if (::pipe(says) != 0)
        return refused("pipe");
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string why = move_to_container();
        const auto size = static_cast<ssize_t>(why.size());
        ::_exit(::write(says[1], why.data(), why.size()) == size && why.empty() ? 0 : 1);
    }
    ::close(says[1]);
    char text[200];
    const auto size = ::read(says[0], text, sizeof text);
    ::close(says[0]);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child)
        return refused("fork");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {};
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "the child died of it";
}

bool may_administer() {
    constexpr unsigned sys_admin = 21;  // CAP_SYS_ADMIN
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("CapEff:"))
            return (std::stoull(line.substr(7), nullptr, 16) >> sys_admin & 1) != 0;
    }
    return false;
}

}  // namespace mortise::test
