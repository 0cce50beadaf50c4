// SPDX-License-Identifier: BSL-1.0
// A context ends with holders and waiters in it, at whatever handler.
#include "conformance/port_conformance.hpp"
#include "mortise/lock_client.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// Runs the context until `done()` holds; false after ten seconds.
bool run_until(asio::io_context& context, const std::function<bool()>& done) {
    const auto end = clock::now() + 10s;
    while (!done() && clock::now() < end)
        context.run_one_for(10ms);
    return done();
}

// The time of a client is that of its own context.
lock_client client_in(asio::any_io_executor executor, store_harness& harness) {
    client_config config;
    config.ttl = harness.ttl();
    return lock_client(std::move(executor), harness.make_store(), std::move(config));
}

/// Checks that the next client gets the lock after others left without a farewell: at once, or when
/// their sessions have ended.
void expect_free(store_harness& harness, const char* name) {
    asio::io_context context;
    lock_client locks = client_in(context.get_executor(), harness);
    bool held = false;
    locks.async_acquire(name, {.wait_max = 8s}, [&](error_code code, lease) { held = !code; });
    EXPECT_TRUE(run_until(context, [&] { return held; }));
}

TEST_P(ContextEnd, MayComeAtWhateverHandlerOfHoldersAndWaiters) {
    for (std::size_t step = 0; step < 32; ++step) {
        asio::io_context context;
        for (int i = 0; i < 2; ++i) {
            asio::co_spawn(
                asio::make_strand(context),
                [this]() -> asio::awaitable<void> {
                    lock_client locks = client_in(co_await asio::this_coro::executor, h());
                    lease held = co_await locks.async_acquire("door");
                    lease never = co_await locks.async_acquire("door");
                },
                asio::detached
            );
        }
        for (std::size_t handlers = 0; handlers < step; ++handlers)
            context.run_one_for(10ms);
    }
    expect_free(h(), "door");
}

TEST_P(ContextEnd, MayComeBeforeThatOfTheClientsAtWhateverHandler) {
    for (std::size_t step = 0; step < 32; ++step) {
        std::optional<asio::io_context> context(std::in_place);
        std::vector<lock_client> clients;
        std::vector<lease> held;
        for (int i = 0; i < 2; ++i) {
            clients.push_back(client_in(context->get_executor(), h()));
            clients.back().async_acquire("door", lock_options(), [&](error_code code, lease got) {
                EXPECT_FALSE(code) << code.message();
                held.push_back(std::move(got));
            });
        }
        for (std::size_t handlers = 0; handlers < step; ++handlers)
            context->run_one_for(10ms);
        if (step % 2 == 0)
            clients.front().async_stop(asio::detached);
        context.reset();
        for (const lease& each : held)
            EXPECT_FALSE(each.held());
        EXPECT_TRUE(clients.front().explain().empty());
    }
    expect_free(h(), "door");
}

}  // namespace
}  // namespace mortise::test
