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

/// A test with real processes on one SQLite store, in a folder of its own.
class chaos_test : public testing::Test {
protected:
    std::unique_ptr<actor_process>
    start(std::chrono::milliseconds ttl = std::chrono::seconds(5), actor_place = actor_place::here);

    /// What the resource holds now.
    std::string content(const std::string& name);

    /// The first number that this statement gives in the store's database.
    std::int64_t sql(const std::string& statement);

    /// Whether nothing of any session is left, in the tables or in the folder, or comes to that
    /// within some seconds.
    bool nothing_is_left();

    /// Waits until so many hold the lock or wait for it, and have done what comes after.
    void queued(const std::string& name, int entries);

    /// Lets the others do what nobody can see.
    static void settle();

private:
    const scratch_folder scratch_;

protected:
    const std::filesystem::path folder = scratch_.path();
};

/// When this was, of a line "held NAME TOKEN at NS" or "failed NAME CODE at NS".
std::int64_t time_in(const std::string& line);
std::uint64_t token_in(const std::string& held_line);

/// That long ago, in milliseconds.
double ms_since(std::int64_t nanoseconds);

}  // namespace mortise::test

#endif
