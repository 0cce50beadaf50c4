// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"
#include "support/scratch_folder.hpp"

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

class SqliteSweep : public testing::Test {
protected:
    std::string url() const { return "sqlite:" + (folder_.path() / "locks.db").string(); }

    /// Checks that the next client finds the lock free after others left without a farewell.
    void expect_free(const char* name) const {
        asio::io_context context;
        lock_client locks(context.get_executor(), open_store(url()));
        bool held = false;
        locks.async_acquire(name, {.wait_max = 8s}, [&](error_code code, lease) { held = !code; });
        EXPECT_TRUE(run_until(context, [&] { return held; }));
    }

private:
    scratch_folder folder_;
};

TEST_F(SqliteSweep, AContextMayEndAtWhateverHandlerOfHoldersAndWaiters) {
    for (std::size_t step = 0; step < 32; ++step) {
        asio::io_context context;
        for (int i = 0; i < 2; ++i) {
            asio::co_spawn(
                asio::make_strand(context),
                [this]() -> asio::awaitable<void> {
                    lock_client locks(co_await asio::this_coro::executor, open_store(url()));
                    lease held = co_await locks.async_acquire("door");
                    lease never = co_await locks.async_acquire("door");
                },
                asio::detached
            );
        }
        for (std::size_t handlers = 0; handlers < step; ++handlers)
            context.run_one_for(10ms);
    }
    expect_free("door");
}

TEST_F(SqliteSweep, AContextMayEndBeforeItsClientsAtWhateverHandler) {
    for (std::size_t step = 0; step < 32; ++step) {
        std::optional<asio::io_context> context(std::in_place);
        std::vector<lock_client> clients;
        std::vector<lease> held;
        for (int i = 0; i < 2; ++i) {
            clients.emplace_back(context->get_executor(), open_store(url()));
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
    expect_free("door");
}

}  // namespace
}  // namespace mortise::test
