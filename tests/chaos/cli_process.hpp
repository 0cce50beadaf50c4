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

/// A program that runs beside the test; what it writes goes into files.
class cli_process {
public:
    using variables = std::vector<std::pair<std::string, std::string>>;

    /// `folder` is where the files go. `environment` comes on top of the test's own; an empty value
    /// takes the variable away.
    cli_process(
        const std::filesystem::path& folder,
        const std::vector<std::string>& arguments,
        const variables& environment
    );

    /// Kills it if it still runs.
    ~cli_process();
    cli_process(cli_process&& other) noexcept;
    cli_process& operator=(cli_process&&) = delete;

    pid_t pid() const noexcept { return pid_; }
    void send(int signal) const;

    /// Waits for its end, for so long and for what the machine is late meanwhile. @return the exit
    /// code, 128 + N after signal N, or -1 (and a test failure) if it does not end in time.
    int wait(std::chrono::milliseconds limit = std::chrono::seconds(60));

    std::string out() const;
    std::string err() const;

private:
    pid_t pid_ = -1;
    std::filesystem::path out_;
    std::filesystem::path err_;
};

std::string text_of(const std::filesystem::path& file);

/// The output of a program on a terminal of its own, on which Ctrl-C is typed once it has written
/// "ready". `status` becomes that of `waitpid`.
std::string typed_at(const std::vector<std::string>& arguments, int& status);

/// Whether a process of this id runs; one that has ended but was not reaped does not.
bool runs(pid_t pid);

}  // namespace mortise::test

#endif
