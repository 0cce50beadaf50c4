// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_SERVER_FAULTS_HPP
#define MORTISE_TESTS_SUPPORT_SERVER_FAULTS_HPP

#include "support/prepared_data.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test {

struct preloaded_faults;

/// What a server of a test's own is started with.
enum class preloads : bool { nothing, faults };

/// A wall clock and a disk of a server, which a test sets and fills, without privileges: a library
/// in the server stands between it and the system. Monotonic clocks and what lies in files already
/// are left alone.
///
/// @par Threads   Any.
/// @par Lifetimes The folder must outlive it.
class server_faults {
public:
    /// For a server that runs as the owner of the data. @throws std::system_error
    explicit server_faults(const prepared_data& data);
    /// For a server of the test's own account, with two files in this folder.
    /// @throws std::system_error
    explicit server_faults(std::filesystem::path folder);
    ~server_faults();
    server_faults(const server_faults&) = delete;
    server_faults& operator=(const server_faults&) = delete;

    /// The command that runs `command` with that library.
    std::vector<std::string> with_library(std::vector<std::string> command) const;

    /// Sets the clock, which has the machine's time at first, forward, or back by a negative time.
    void step_clock(std::chrono::microseconds by);

    /// Lets no file of its data become longer, or again. The log of a database's writes is as if on
    /// another disk; that of ZooKeeper is its data.
    void fill_disk(bool full = true);

private:
    const std::filesystem::path folder_;
    preloaded_faults* shared_;
};

}  // namespace mortise::test

#endif
