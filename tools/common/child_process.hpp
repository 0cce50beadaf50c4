// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TOOLS_COMMON_CHILD_PROCESS_HPP
#define MORTISE_TOOLS_COMMON_CHILD_PROCESS_HPP

#include "mortise/detail/unique_fd.hpp"

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace mortise::tool {

/// Describes a process to start.
class child_order {
public:
    child_order();

    std::vector<std::string> command;                              ///< Looked up in PATH.
    std::vector<std::pair<std::string, std::string>> environment;  ///< In addition to ours.
    std::vector<int> kept;  ///< Descriptors that it inherits.
    sigset_t signal_mask;   ///< Signals blocked at its start. Default: our mask.
};

/// A child process. It dies when the *thread* that started it ends: spawn from the main thread.
class child_process {
public:
    /// Forks, and lets the child execute its command.
    /// @throws failure if the system refuses a process.
    static child_process spawn(const child_order& order);

    pid_t pid() const noexcept { return pid_; }

    /// A descriptor that becomes readable once the command was executed, or could not be.
    int execution() const noexcept { return report_.get(); }

    /// Zero, or the `errno` of the failed execution. Blocks until it is known.
    int execution_error();

    /// Whether the process has ended. Does not block; reaps the process.
    bool ended();

    /// Waits for the end of the process.
    void wait();

    /// The exit code of the ended process, as shells report it: its own, or 128 + the signal's
    /// number.
    int exit_code() const noexcept;

    /// Sends a signal unless the process has ended. Cannot reach another process: the id stays ours
    /// until this class reaps the process.
    void send(int signal) noexcept;

private:
    child_process(pid_t pid, detail::unique_fd report) : pid_(pid), report_(std::move(report)) {}

    bool reap(int flags);

    pid_t pid_;
    detail::unique_fd report_;
    bool reaped_ = false;
    int status_ = 0;
};

/// The path of this program, to start further processes of it.
inline constexpr const char* own_program = "/proc/self/exe";

}  // namespace mortise::tool

#endif
