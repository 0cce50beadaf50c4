// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_CLI_FIXTURE_HPP
#define MORTISE_TESTS_CHAOS_CLI_FIXTURE_HPP

#include "chaos/cli_process.hpp"

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test {

/// Tests of the built `mortise` as a process, each with a new store.
class Cli : public testing::Test {
public:
    Cli();
    ~Cli() override;

protected:
    /// Starts `mortise ARGUMENTS...`.
    cli_process start(const std::vector<std::string>& arguments) const;

    /// Starts `mortise run OPTIONS... -- sh -c SCRIPT`.
    cli_process start_script(std::vector<std::string> options, const std::string& script) const;

    /// The output of `mortise ls --json`.
    boost::json::value listed() const;

    /// How many parties wait for the lock; -1 if nobody holds it.
    std::int64_t waiters_of(const std::string& lock) const;

    std::filesystem::path file(const std::string& name) const { return folder_ / name; }

    std::filesystem::path folder_;
    cli_process::variables environment_;
};

}  // namespace mortise::test

#endif
