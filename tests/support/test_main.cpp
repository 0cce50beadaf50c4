// SPDX-License-Identifier: BSL-1.0
// The main function of all test binaries. Many cases share a process, so the time limit of a case
// is kept here: a case that exceeds it is named, and the process ends. Cases that fail while the
// machine is late are run again.
#include "support/trials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::array<char, 512> running_case{};

// Called by a signal: nothing here may allocate or lock.
void end_with_name(int) {
    constexpr char text[] = "[ TIME OUT ] ";
    [[maybe_unused]] ssize_t written = ::write(STDOUT_FILENO, text, sizeof text - 1);
    written = ::write(STDOUT_FILENO, running_case.data(), std::strlen(running_case.data()));
    written = ::write(STDOUT_FILENO, "\n", 1);
    ::signal(SIGABRT, SIG_DFL);
    ::abort();
}

class case_limit : public testing::EmptyTestEventListener {
public:
    explicit case_limit(unsigned seconds) : seconds_(seconds) {}

    void OnTestStart(const testing::TestInfo& test) override {
        const std::string name = std::string(test.test_suite_name()) + "." + test.name();
        running_case.fill('\0');
        name.copy(running_case.data(), running_case.size() - 1);
        ::alarm(seconds_);
    }
    void OnTestEnd(const testing::TestInfo&) override { ::alarm(0); }

private:
    unsigned seconds_;
};

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> program(words, words + count);
    testing::InitGoogleMock(&count, words);
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    mortise::test::machine_pulse pulse;
    auto* const trials = new mortise::test::trials(pulse);  // it is GoogleTest's from now on
    listeners.Append(trials);
    if (const char* const seconds = std::getenv("MORTISE_CASE_SECONDS")) {
        ::signal(SIGALRM, end_with_name);
        listeners.Append(new case_limit(static_cast<unsigned>(std::atoi(seconds))));
    }
    const int code = RUN_ALL_TESTS();
    return trials->outcome(code, program);
}
