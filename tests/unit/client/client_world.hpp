// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_UNIT_CLIENT_CLIENT_WORLD_HPP
#define MORTISE_TESTS_UNIT_CLIENT_CLIENT_WORLD_HPP

#include "mortise/coro/virtual_time.hpp"
#include "mortise/lock_client.hpp"
#include "mortise/store.hpp"
#include "mortise/store/memory.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

namespace mortise::test {

/// The result of an acquire, for tests that drive handlers one by one.
struct acquire_outcome {
    acquire_outcome() = default;

    bool done = false;
    error_code code;
    lease held;
};

/// A memory server and its clients in virtual time.
class client_world {
public:
    client_world() = default;
    client_world(const client_world&) = delete;
    client_world& operator=(const client_world&) = delete;

    client_config config() const {
        client_config config;
        config.ttl = std::chrono::milliseconds(3'000);
        config.time = time;
        return config;
    }

    lock_client client() { return client(server.make_store()); }

    lock_client client(std::unique_ptr<store> store) {
        return lock_client(context.get_executor(), std::move(store), config());
    }

    /// A handler that records what came, without a coroutine around it.
    static auto record(acquire_outcome& into) {
        return [&into](error_code code, lease held) {
            EXPECT_FALSE(into.done) << "completed twice";
            into.done = true;
            into.code = code;
            into.held = std::move(held);
        };
    }

    /// Runs until it is true, for at most a minute of virtual time.
    bool run_until(const std::function<bool()>& done) {
        const auto end = time->now() + std::chrono::minutes(1);
        time->run_while(context, [&] { return !done() && time->now() < end; });
        return done();
    }

    void pass(clock::duration span) { time->run_for(context, span); }

    /// Acquires, and expects that it succeeds.
    lease acquire(lock_client& locks, std::string name) {
        acquire_outcome outcome;
        locks.async_acquire(std::move(name), lock_options(), record(outcome));
        EXPECT_TRUE(run_until([&] { return outcome.done; }));
        EXPECT_FALSE(outcome.code) << outcome.code.message();
        return std::move(outcome.held);
    }

    void stop(lock_client& locks) {
        bool done = false;
        locks.async_stop([&](error_code code) {
            done = true;
            EXPECT_FALSE(code) << code.message();
        });
        EXPECT_TRUE(run_until([&] { return done; }));
    }

    asio::io_context context;
    std::shared_ptr<coro::virtual_time> time =
        std::make_shared<coro::virtual_time>(context.get_executor());
    memory_server server{time};
};

}  // namespace mortise::test

#endif
