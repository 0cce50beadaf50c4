// SPDX-License-Identifier: BSL-1.0
#include "mortise/lock_client.hpp"
#include "mortise/open_store.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class SqliteSweep : public testing::Test {
protected:
    SqliteSweep() {
        std::string pattern = std::filesystem::temp_directory_path() / "mortise-sweep-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~SqliteSweep() override { std::filesystem::remove_all(folder_); }

    std::string url() const { return "sqlite:" + (folder_ / "locks.db").string(); }

private:
    std::filesystem::path folder_;
};

/// Runs the context until it is true; false after ten seconds.
bool run_until(asio::io_context& context, const std::function<bool()>& done) {
    const auto end = clock::now() + 10s;
    while (!done() && clock::now() < end) {
        context.restart();  // between two clients it may have run out of work
        context.run_one_for(10ms);
    }
    return done();
}

std::vector<lock_view> list(asio::io_context& context, lock_client& locks) {
    std::optional<std::vector<lock_view>> views;
    locks.async_list("", 10, 10, [&](error_code code, std::vector<lock_view> got) {
        EXPECT_FALSE(code);
        views = std::move(got);
    });
    EXPECT_TRUE(run_until(context, [&] { return views.has_value(); }));
    return views.value_or(std::vector<lock_view>());
}

void stop(asio::io_context& context, lock_client& locks) {
    bool stopped = false;
    locks.async_stop([&](error_code code) {
        stopped = true;
        EXPECT_FALSE(code) << code.message();
    });
    EXPECT_TRUE(run_until(context, [&] { return stopped; }));
}

// The store's threads make the number of handlers differ from run to run, so that each step is
// tried in several runs over the three types; what counts is that none of them leaves anything.
TEST_F(SqliteSweep, AnAcquireThatIsCancelledAtWhateverHandlerLeavesNothing) {
    asio::io_context context;
    lock_client alice(context.get_executor(), open_store(url()));
    std::size_t cancelled = 0;
    for (const auto type :
         {asio::cancellation_type::terminal,
          asio::cancellation_type::partial,
          asio::cancellation_type::total}) {
        bool untouched = false;
        for (std::size_t step = 0; !untouched; ++step) {
            ASSERT_LT(step, 1'000u);
            lock_client bob(context.get_executor(), open_store(url()));
            asio::cancellation_signal signal;
            bool done = false;
            error_code code;
            lease held;
            bob.async_acquire(
                "door",
                lock_options(),
                asio::bind_cancellation_slot(
                    signal.slot(),
                    [&](error_code ec, lease got) {
                        done = true;
                        code = ec;
                        held = std::move(got);
                    }
                )
            );
            context.restart();
            for (std::size_t handlers = 0; !done && handlers < step; ++handlers)
                context.run_one_for(1s);
            untouched = done;
            if (!untouched)
                signal.emit(type);
            ASSERT_TRUE(run_until(context, [&] { return done; }));
            if (code) {
                EXPECT_EQ(code, asio::error::operation_aborted);
                EXPECT_TRUE(list(context, alice).empty()) << "cancelled before handler " << step;
                ++cancelled;
            } else {
                EXPECT_TRUE(held.held());
            }
            stop(context, bob);
        }
    }
    EXPECT_GE(cancelled, 3u);
    stop(context, alice);
}

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
    // Each of those clients went without a farewell; the next one finds the lock free.
    asio::io_context context;
    lock_client locks(context.get_executor(), open_store(url()));
    bool held = false;
    locks.async_acquire("door", {.wait_max = 8s}, [&](error_code code, lease) { held = !code; });
    EXPECT_TRUE(run_until(context, [&] { return held; }));
}

}  // namespace
}  // namespace mortise::test
