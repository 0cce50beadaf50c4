// SPDX-License-Identifier: BSL-1.0
// The points at which tests kill and stop processes.
#include "mortise/coro/detail/crash_point.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

namespace mortise::test::crash_point_test {
namespace {

#ifdef MORTISE_PLANT_BUGS

/// A number that a child and its parent share.
class shared_number {
public:
    shared_number()
        : memory_(::mmap(
              nullptr, sizeof(number), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0
          )) {
        if (memory_ == MAP_FAILED)
            throw std::bad_alloc();
        new (memory_) number(0);
    }
    ~shared_number() { ::munmap(memory_, sizeof(number)); }
    shared_number(const shared_number&) = delete;
    shared_number& operator=(const shared_number&) = delete;

    std::atomic<int>& operator*() const { return *static_cast<number*>(memory_); }

private:
    using number = std::atomic<int>;
    void* memory_;
};

// Runs in the child: a thread that is not the first one comes to the point twice.
[[noreturn]] void come_to_the_point(std::atomic<int>& passed) {
    ::setenv("MORTISE_STOP_AT", "here:2", 1);
    std::thread([&passed] {
        for (int i = 0; i < 2; ++i) {
            MORTISE_CRASH_POINT("here");
            ++passed;
        }
    }).join();
    ::_exit(0);
}

// A transaction was committed by a thread that ran on while its process was about to stop.
TEST(CrashPoint, NoThreadRunsOnBehindTheOneThatStopsThere) {
    for (int round = 0; round < 50; ++round) {
        const shared_number passed;
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0)
            come_to_the_point(*passed);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
        EXPECT_TRUE(WIFSTOPPED(status));
        EXPECT_EQ(*passed, 1);
        ::kill(child, SIGKILL);
        ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
}

#endif

}  // namespace
}  // namespace mortise::test::crash_point_test
