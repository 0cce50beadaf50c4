// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CHAOS_CHAOS_TEST_HPP
#define MORTISE_TESTS_CHAOS_CHAOS_TEST_HPP

#include "chaos/actor_process.hpp"
#include "support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace mortise::test {

/// A test with real processes on one SQLite store, in a new folder.
class chaos_test : public testing::Test {
protected:
    std::unique_ptr<actor_process>
    start(std::chrono::milliseconds ttl = std::chrono::seconds(5), actor_place = actor_place::here);

    /// The first number that the statement returns from the store's database.
    std::int64_t sql(const std::string& statement);

    /// Whether every trace of sessions is gone, from the tables and the folder, at the latest after
    /// some seconds.
    bool nothing_is_left();

    /// Waits until this many parties hold the lock or wait for it, and have finished what follows.
    void queued(const std::string& name, int entries);

    /// Gives the other processes time for steps that no test can observe.
    static void settle();

private:
    const scratch_folder scratch_;

protected:
    const std::filesystem::path folder = scratch_.path();
};

/// The present content of a resource of the actors, in their folder.
std::string content_at(const std::filesystem::path& folder, const std::string& name);

/// The first number that the statement returns from the database of a store in that folder.
std::int64_t sql_at(const std::filesystem::path& folder, const std::string& statement);

/// The time in a line "held NAME TOKEN at NS" or "failed NAME CODE at NS".
std::int64_t time_in(const std::string& line);
std::uint64_t token_in(const std::string& held_line);

/// The milliseconds since that time.
double ms_since(std::int64_t nanoseconds);

}  // namespace mortise::test

#endif
