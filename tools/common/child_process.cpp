// SPDX-License-Identifier: BSL-1.0
#include "common/child_process.hpp"

#include "common/exit_code.hpp"
#include "common/failure.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace mortise::tool {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Returns our environment, with `added` replacing the entries of the same names.
std::vector<std::string>
environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
    std::vector<std::string> entries;
    for (char** entry = ::environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const bool replaced = std::any_of(added.begin(), added.end(), [&](const auto& one) {
            return text.size() > one.first.size() && text.starts_with(one.first) &&
                   text[one.first.size()] == '=';
        });
        if (!replaced)
            entries.emplace_back(text);
    }
    for (const auto& [name, value] : added)
        entries.push_back(name + '=' + value);
    return entries;
}

/// Everything that the child needs. It is made before the fork: another thread may own the heap's
/// lock at that moment, so the child must not allocate.
struct prepared {
    char** arguments;
    char** environment;
    const std::vector<int>& kept;
    const sigset_t& signal_mask;
    pid_t parent;
    int report;
};

[[noreturn]] void become(const prepared& p) noexcept {
    // The kernel kills this process when the thread that forked it ends. If that thread ended
    // before this call, the kernel does not: hence the check of the parent.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != p.parent)
        ::_exit(exit_code::internal);
    for (const int fd : p.kept)
        ::fcntl(fd, F_SETFD, 0);
    // No signal has a handler here. The command inherits the signals that we ignore.
    ::sigprocmask(SIG_SETMASK, &p.signal_mask, nullptr);
    ::execvpe(p.arguments[0], p.arguments, p.environment);
    const int reason = errno;
    const ssize_t written = ::write(p.report, &reason, sizeof reason);
    ::_exit(written == sizeof reason ? exit_code::not_found : exit_code::internal);
}

}  // namespace

child_order::child_order() {
    ::sigemptyset(&signal_mask);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &signal_mask);
}

child_process child_process::spawn(const child_order& order) {
    std::vector<std::string> command = order.command;
    std::vector<std::string> entries = environment_with(order.environment);
    const std::vector<char*> arguments = pointers_to(command);
    const std::vector<char*> environment = pointers_to(entries);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw failure::of_errno("no pipe can be made");
    detail::unique_fd report(ends[0]);
    detail::unique_fd write_end(ends[1]);
    const prepared p{
        const_cast<char**>(arguments.data()),
        const_cast<char**>(environment.data()),
        order.kept,
        order.signal_mask,
        ::getpid(),
        write_end.get()};
    const pid_t pid = ::fork();
    if (pid < 0)
        throw failure::of_errno("no process can be made");
    if (pid == 0)
        become(p);
    return child_process(pid, std::move(report));
}

int child_process::execution_error() {
    int reason = 0;
    ssize_t got = 0;
    do {
        got = ::read(report_.get(), &reason, sizeof reason);
    } while (got < 0 && errno == EINTR);
    report_.reset();
    return got == sizeof reason ? reason : 0;  // the pipe ended: `exec` succeeded and closed it
}

bool child_process::reap(int flags) {
    if (reaped_)
        return true;
    pid_t got = 0;
    do {
        got = ::waitpid(pid_, &status_, flags);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        throw failure::of_errno("the command's end cannot be read");
    reaped_ = got == pid_;
    return reaped_;
}

bool child_process::ended() {
    return reap(WNOHANG);
}

void child_process::wait() {
    reap(0);
}

int child_process::exit_code() const noexcept {
    return WIFSIGNALED(status_) ? exit_code::signal_base + WTERMSIG(status_) : WEXITSTATUS(status_);
}

void child_process::send(int signal) noexcept {
    if (!reaped_)
        ::kill(pid_, signal);
}

}  // namespace mortise::tool
