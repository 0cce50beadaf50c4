// SPDX-License-Identifier: BSL-1.0
#include "support/child_program.hpp"

#include "support/eventually.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

namespace mortise::test {
namespace {

// Uses only what was made before the fork: another thread may own the heap's lock at that moment.
[[noreturn]] void become(char* const* arguments, pid_t parent, int output) noexcept {
    sigset_t none;
    ::sigemptyset(&none);
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool ready = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent &&
                       ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0 && input >= 0 &&
                       ::dup2(input, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
                       ::dup2(output, STDERR_FILENO) >= 0;
    if (ready)
        ::execvp(arguments[0], arguments);
    ::_exit(127);
}

[[noreturn]] void fail(const char* text) {
    throw std::system_error(errno, std::generic_category(), text);
}

}  // namespace

child_program::child_program(
    const std::vector<std::string>& command, const std::filesystem::path& output
)
    : owner_(::getpid()) {
    std::vector<std::string> texts = command;
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        fail("no file for what a program says");
    pid_ = ::fork();
    if (pid_ == 0)
        become(pointers.data(), owner_, file);
    ::close(file);
    if (pid_ < 0)
        fail("no process");
}

child_program::~child_program() {
    // A process that was forked from the test must not end the program.
    if (exit_code_ || ::getpid() != owner_)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

bool child_program::ended() {
    if (exit_code_)
        return true;
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got < 0)
        fail("waitpid");
    if (got == pid_)
        exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return exit_code_.has_value();
}

std::optional<int> child_program::wait(std::chrono::milliseconds limit) {
    eventually([this] { return ended(); }, limit);
    return exit_code_;
}

void child_program::send(int signal) {
    if (!ended() && ::kill(pid_, signal) != 0)
        fail("kill");
}

void child_program::suspend() {
    send(SIGSTOP);
    siginfo_t change{};
    if (ended() ||
        ::waitid(P_PID, static_cast<id_t>(pid_), &change, WSTOPPED | WEXITED | WNOWAIT) != 0 ||
        change.si_code != CLD_STOPPED)
        throw std::runtime_error("a program has ended instead of stopping");
}

void child_program::resume() {
    send(SIGCONT);
}

bool child_program::await_stop(std::chrono::milliseconds limit) {
    siginfo_t change{};
    const auto changed = [&] {
        return ended() ||
               ::waitid(P_PID, static_cast<id_t>(pid_), &change, WSTOPPED | WNOHANG) != 0 ||
               change.si_pid == pid_;
    };
    eventually(changed, limit);
    return change.si_pid == pid_ && change.si_code == CLD_STOPPED;
}

}  // namespace mortise::test
