// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/detail/fork_guard.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace mortise::coro::detail::fork_guard_test {
namespace {

// Runs `child` in a forked child, which runs nothing else of this process; gives its exit code.
template <class Child>
int exit_code_of(Child child) {
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(child());
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkGuard, KnowsTheForkedChild) {
    const fork_guard guard;
    EXPECT_FALSE(guard.forked());
    EXPECT_EQ(exit_code_of([&] { return guard.forked() ? 7 : 8; }), 7);
    EXPECT_FALSE(guard.forked()) << "the parent is what it was";
}

TEST(ForkGuard, BelongsToTheProcessThatMadeIt) {
    const auto in_child = [] {
        const fork_guard own;
        return own.forked() ? 8 : 7;
    };
    EXPECT_EQ(exit_code_of(in_child), 7);
}

TEST(ForkGuard, KnowsTheGrandchildAndTheChildOfTheChild) {
    const fork_guard guard;
    const auto in_child = [&] {
        const fork_guard of_child;
        if (!guard.forked() || of_child.forked())
            return 8;
        return exit_code_of([&] { return guard.forked() && of_child.forked() ? 7 : 9; });
    };
    EXPECT_EQ(exit_code_of(in_child), 7);
}

TEST(ForkGuard, ACopyBelongsToTheSameProcess) {
    const fork_guard guard;
    const fork_guard copy = guard;
    EXPECT_EQ(exit_code_of([&] { return copy.forked() ? 7 : 8; }), 7);
}

}  // namespace
}  // namespace mortise::coro::detail::fork_guard_test
