// SPDX-License-Identifier: BSL-1.0
#include "support/trials.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

namespace mortise::test {
namespace {

constexpr const char* variable = "MORTISE_TRIAL";

int trial_number() {
    const char* const text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : 1;
}

/// Runs a program to its end. @return its code; 1 if it was killed or could not be started.
int run(std::vector<std::string> program) {
    std::vector<char*> words;
    for (auto& word : program)
        words.push_back(word.data());
    words.push_back(nullptr);
    pid_t child = -1;
    if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, words.data(), environ) != 0)
        return 1;
    int status = 0;
    const bool ended = ::waitpid(child, &status, 0) == child && WIFEXITED(status);
    return ended ? WEXITSTATUS(status) : 1;
}

}  // namespace

void trials::OnTestEnd(const testing::TestInfo& test) {
    if (!test.result()->Failed())
        return;
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(pulse_.longest());
    one_counts_ = one_counts_ || waited < late;
    const std::string name = std::string(test.test_suite_name()) + '.' + test.name();
    late_ones_ += (late_ones_.empty() ? "" : ":") + name;
    std::cout << name << ": the machine let a thread wait for " << waited.count() << " ms"
              << std::endl;
}

int trials::outcome(int code, const std::vector<std::string>& program) const {
    const int next = trial_number() + 1;
    if (code == 0 || one_counts_ || late_ones_.empty() || next > trials_max)
        return code;
    std::cout << "trial " << next << " of what failed while the machine was late" << std::endl;
    ::setenv(variable, std::to_string(next).c_str(), 1);
    // The cases are named, and what was written of the first run stays.
    for (const char* const each : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "GTEST_OUTPUT"})
        ::unsetenv(each);
    auto again = program;
    again.push_back("--gtest_filter=" + late_ones_);
    return run(std::move(again));
}

}  // namespace mortise::test
