// SPDX-License-Identifier: BSL-1.0
// A child that was forked without exec has a copy of all that a client of a store has.
#include "mortise/lock_client.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <tuple>

namespace mortise::test::sqlite_fork_test {
namespace {

using namespace std::chrono_literals;

class SqliteFork : public testing::Test {
protected:
    struct party {
        asio::io_context context;
        std::optional<lock_client> locks;  // ends first
    };

    void open(party& who) const {
        who.locks.emplace(who.context.get_executor(), make_sqlite_store(folder.config()));
    }

    static error_code acquire(party& who, lease& held, lock_options options = lock_options()) {
        std::optional<error_code> answer;
        who.locks->async_acquire("door", options, [&](error_code failed, lease got) {
            answer = failed;
            held = std::move(got);
        });
        who.context.restart();
        while (!answer && who.context.run_one_for(10s) != 0) {
        }
        return answer.value_or(asio::error::timed_out);
    }

    store_folder folder;
};

TEST_F(SqliteFork, AChildThatEndsInOrderLeavesItsParentsSessionAlone) {
    std::optional<party> parent(std::in_place);
    open(*parent);
    lease held;
    ASSERT_EQ(acquire(*parent, held), error_code());
    const std::size_t sockets = folder.sockets();
    // As Asio wants it: else the child would use the reactor of its parent.
    parent->context.notify_fork(asio::io_context::fork_prepare);
    const pid_t child = ::fork();
    if (child == 0) {
        parent->context.notify_fork(asio::io_context::fork_child);
        held = lease();
        parent.reset();
        ::_exit(0);
    }
    parent->context.notify_fork(asio::io_context::fork_parent);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(folder.sockets(), sockets);

    party other;
    open(other);
    lease second;
    EXPECT_EQ(acquire(other, second, {.wait_max = 50ms}), errc::busy) << "the parent holds it";
    EXPECT_TRUE(held.held());
    lease third;
    EXPECT_EQ(acquire(*parent, third, {.wait_max = 50ms}), errc::busy) << "its session lives";
}

}  // namespace
}  // namespace mortise::test::sqlite_fork_test
