// SPDX-License-Identifier: BSL-1.0
// A child that was forked without exec has a copy of all that a client has, and of its connection.
#include "conformance/port_conformance.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::test::fork_test {
namespace {

using namespace std::chrono_literals;

/// A client in a context of its own. Its TTL is one that no busy machine uses up.
class party {
public:
    explicit party(store_harness& harness)
        : locks_(std::in_place, context.get_executor(), harness.make_store(), config()) {}

    /// Acquires the lock, or is told why not.
    error_code acquire(const std::string& name, lease& held, lock_options options = {}) {
        return outcome_of([&](auto done) {
            locks_->async_acquire(name, options, [&held, done](error_code failed, lease got) {
                held = std::move(got);
                done(failed);
            });
        });
    }
    error_code release(lease& held) {
        return outcome_of([&](auto done) { held.async_release(done); });
    }
    lock_client& locks() { return *locks_; }
    error_code stop() {
        return outcome_of([&](auto done) { locks_->async_stop(done); });
    }

    asio::io_context context;

private:
    static client_config config() {
        client_config config;
        config.ttl = 30s;
        return config;
    }
    /// Runs the context until the operation has ended that `start` begins.
    template <class Start>
    error_code outcome_of(Start start) {
        const auto answer = std::make_shared<std::optional<error_code>>();
        start([answer](error_code code) { *answer = code; });
        const auto end = clock::now() + 20s;
        context.restart();
        while (!*answer && clock::now() < end)
            context.run_one_for(20ms);
        return answer->value_or(asio::error::timed_out);
    }

    std::optional<lock_client> locks_;  // ends before its context
};

// @return zero, if all is well in the child.
int end_in_child(std::optional<party>& parent, lease& held) {
    // As Asio wants it: else the child would use the reactor of its parent.
    parent->context.notify_fork(asio::io_context::fork_child);
    int wrong = held.state() == lease_state::lost ? 0 : 1;
    wrong += held.check() == errc::forked ? 0 : 2;
    // The context of the parent would read what its server sends to the parent.
    asio::io_context own;
    const auto is_forked = [&own](const auto& begin) {
        std::optional<error_code> got;
        begin(asio::bind_executor(own, [&got](error_code code, auto&&...) { got = code; }));
        own.restart();
        own.run_for(5s);
        return got == error_code(errc::forked);
    };
    auto& locks = parent->locks();
    wrong += is_forked([&](auto done) { locks.async_list("", 1, 1, std::move(done)); }) ? 0 : 4;
    wrong += is_forked([&](auto done) { locks.async_watch(std::move(done)); }) ? 0 : 8;
    wrong += is_forked([&](auto done) { held.async_extend(1s, std::move(done)); }) ? 0 : 16;
    wrong += is_forked([&](auto done) { held.async_release(std::move(done)); }) ? 0 : 32;
    parent.reset();
    return wrong;
}

TEST_P(ContextEnd, InAForkedChildLeavesTheSessionOfItsParentAlone) {
    std::optional<party> parent(std::in_place, h());
    lease held;
    ASSERT_EQ(parent->acquire("door", held), error_code());
    parent->context.notify_fork(asio::io_context::fork_prepare);
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(end_in_child(parent, held));
    parent->context.notify_fork(asio::io_context::fork_parent);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        ASSERT_EQ(errno, EINTR);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);

    party other(h());
    lease second;
    EXPECT_EQ(other.acquire("door", second, {.wait_max = 50ms}), errc::busy) << "its lock is free";
    lease third;
    EXPECT_EQ(parent->acquire("window", third), error_code()) << "the store hears it no more";
    EXPECT_TRUE(held.held());
    EXPECT_EQ(parent->release(held), error_code());
    EXPECT_EQ(other.acquire("door", second), error_code());
    EXPECT_EQ(parent->release(third), error_code());
    EXPECT_EQ(other.release(second), error_code());
    EXPECT_EQ(parent->stop(), error_code());
    EXPECT_EQ(other.stop(), error_code());
    EXPECT_EQ(h().residue(), 0u);
}

}  // namespace
}  // namespace mortise::test::fork_test
