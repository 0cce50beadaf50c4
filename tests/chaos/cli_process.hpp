// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_CLI_PROCESS_HPP
#define MORTISE_TESTS_CHAOS_CLI_PROCESS_HPP

#include "support/eventually.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

/// A program that runs beside the test and writes its output to files.
class cli_process {
public:
    using variables = std::vector<std::pair<std::string, std::string>>;

    /// `folder` is for the files. `environment` is added to the test's own; an empty value removes
    /// a variable.
    cli_process(
        const std::filesystem::path& folder,
        const std::vector<std::string>& arguments,
        const variables& environment
    );

    /// Kills the program if it still runs.
    ~cli_process();
    cli_process(cli_process&& other) noexcept;
    cli_process& operator=(cli_process&&) = delete;

    pid_t pid() const noexcept { return pid_; }
    void send(int signal) const;

    /// Waits for the end of the program, for `limit` and for the delay that the machine causes
    /// meanwhile.
    /// @return the exit code, 128 + N after signal N, or -1 (and a test failure) if it does not end
    /// in time.
    int wait(std::chrono::milliseconds limit = std::chrono::seconds(60));

    std::string out() const;
    std::string err() const;

private:
    pid_t pid_ = -1;
    std::filesystem::path out_;
    std::filesystem::path err_;
};

std::string text_of(const std::filesystem::path& file);

/// The output of a program on a new terminal. Types Ctrl-C there once the program has written
/// "ready". Sets `status` as `waitpid` does.
std::string typed_at(const std::vector<std::string>& arguments, int& status);

/// Whether the process runs. A process that has ended but was not reaped does not.
bool runs(pid_t pid);

}  // namespace mortise::test

#endif
