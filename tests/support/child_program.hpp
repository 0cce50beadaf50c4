// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_CHILD_PROGRAM_HPP
#define MORTISE_TESTS_SUPPORT_CHILD_PROGRAM_HPP

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// A program that runs beside the test; its output goes into a file. It dies when the *thread* that
/// made it does: make it on the main thread.
///
/// @par Threads One at a time.
class child_program {
public:
    /// The command's first word is looked up in PATH. The program's output is appended to `output`.
    /// @throws std::system_error if there can be no process; one that cannot become the command
    ///         ends with the code 127.
    child_program(const std::vector<std::string>& command, const std::filesystem::path& output);

    /// Kills it if it still runs.
    ~child_program();
    child_program(const child_program&) = delete;
    child_program& operator=(const child_program&) = delete;

    pid_t pid() const noexcept { return pid_; }

    /// Whether it has ended.
    bool ended();

    /// Waits for its end, for at most `limit`. @return the exit code, 128 + N after signal N, or
    /// nothing if it still runs.
    std::optional<int> wait(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Does nothing if it has ended. @throws std::system_error
    void send(int signal);

    /// Stops it, and waits until it has stopped.
    void suspend();
    void resume();

    /// Waits until it has stopped, by itself or by somebody else. @return whether it has.
    bool await_stop(std::chrono::milliseconds limit = std::chrono::seconds(20));

private:
    const pid_t owner_;
    pid_t pid_ = -1;
    std::optional<int> exit_code_;
};

}  // namespace mortise::test

#endif
