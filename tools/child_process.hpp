// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_CHILD_PROCESS_HPP
#define MORTISE_TOOLS_CHILD_PROCESS_HPP

#include "unique_fd.hpp"

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// What a new process is to be.
class child_order {
public:
    child_order();

    std::vector<std::string> command;                              ///< Looked up in PATH.
    std::vector<std::pair<std::string, std::string>> environment;  ///< On top of our own.
    std::vector<int> kept;  ///< Descriptors that it inherits.
    sigset_t signal_mask;   ///< Signals that it begins with blocked; at first: ours.
};

/// A process of ours, which dies when the calling *thread* does: spawn from the main thread.
///
/// @par Threads One at a time.
class child_process {
public:
    /// Forks, and lets the child execute its command.
    /// @throws failure if the system refuses a process.
    static child_process spawn(const child_order& order);

    pid_t pid() const noexcept { return pid_; }

    /// Becomes readable once the command was executed, or could not be.
    int execution() const noexcept { return report_.get(); }

    /// Zero, or the `errno` of the execution. Blocks until it is known.
    int execution_error();

    /// Whether it has ended; asks without waiting, and reaps it.
    bool ended();

    /// Waits for its end.
    void wait();

    /// The exit code of the ended process as shells give it: its own, or 128 + the signal's number.
    int exit_code() const noexcept;

    /// Sends a signal, if the process has not ended. Never reaches another one: the id stays ours
    /// until it is reaped, here.
    void send(int signal) noexcept;

private:
    child_process(pid_t pid, unique_fd report) : pid_(pid), report_(std::move(report)) {}

    bool reap(int flags);

    pid_t pid_;
    unique_fd report_;
    bool reaped_ = false;
    int status_ = 0;
};

/// The path of this program, for processes of the same kind.
inline constexpr const char* own_program = "/proc/self/exe";

}  // namespace mortise::tool

#endif
