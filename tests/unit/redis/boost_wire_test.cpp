// SPDX-License-Identifier: BSL-1.0
#include "store/redis/boost_wire.hpp"
#include "store/redis/redis_wire.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

namespace mortise::store_detail::boost_wire_test {
namespace {

struct uses {
    redis_failure opened;
    redis_failure subscribed;
    bool over = false;
};

asio::awaitable<void>
open_and_subscribe(redis_wire& wire, deaf_wire_events& events, uses& results) {
    auto opening = wire.open(events);
    results.opened = co_await std::move(opening);
    if (!results.opened.code) {
        auto subscribing = wire.subscribe("a channel");
        results.subscribed = co_await std::move(subscribing);
    }
    results.over = true;
}

// Closed before the n-th handler. @return whether that came before the end
bool closed_before(int nth) {
    asio::io_context context(1);
    wire_settings settings;
    settings.host = "127.0.0.1";
    settings.port = test::shared_redis().port();
    const auto wire = make_boost_wire(context.get_executor(), settings);
    deaf_wire_events events;
    uses results;
    asio::co_spawn(
        context,
        open_and_subscribe(*wire, events, results),
        [](const std::exception_ptr& failed) {
            if (failed)
                std::rethrow_exception(failed);
        }
    );
    for (int i = 1; i < nth && !results.over; ++i)
        context.run_one();
    const bool early = !results.over;
    wire->close();
    context.run_for(std::chrono::seconds(2));
    EXPECT_TRUE(results.over) << "somebody waits for a wire that was closed before handler " << nth;
    if (early) {
        EXPECT_TRUE(results.opened.code || results.subscribed.code) << nth;
    }
    return early;
}

TEST(BoostWire, ThatIsClosedAtWhateverStepOfItsOpeningKeepsNobodyWaiting) {
    int steps = 1;
    while (closed_before(steps) && !HasFailure())
        ++steps;
    EXPECT_GT(steps, 10) << "an opening takes more steps than that";
}

/// Closes a wire at its end, as a client does that ends with its context.
class closer {
public:
    explicit closer(std::shared_ptr<redis_wire> wire) : wire_(std::move(wire)) {}
    closer(closer&&) noexcept = default;
    closer& operator=(closer&&) = delete;
    ~closer() {
        if (wire_)
            wire_->close();
    }

private:
    std::shared_ptr<redis_wire> wire_;
};

asio::awaitable<void> open_and_wait(redis_wire& wire, deaf_wire_events& events, bool& opened) {
    auto opening = wire.open(events);
    opened = !(co_await std::move(opening)).code;
    auto calling = wire.call({"BLPOP", "nothing", "0"});
    co_await std::move(calling);
}

TEST(BoostWire, ThatIsClosedByTheEndOfItsContextLooksAtNoCommandThatIsGone) {
    deaf_wire_events events;
    bool opened = false;
    asio::io_context context(1);
    const asio::any_io_executor strand = asio::make_strand(context);
    wire_settings settings;
    settings.host = "127.0.0.1";
    settings.port = test::shared_redis().port();
    auto wire = make_boost_wire(strand, settings);
    asio::co_spawn(strand, open_and_wait(*wire, events, opened), asio::detached);
    ASSERT_TRUE(test::eventually([&] {
        context.run_one_for(std::chrono::milliseconds(10));
        return opened;
    }));
    context.run_for(std::chrono::milliseconds(50));  // the command goes out
    asio::post(strand, [last = closer(std::move(wire))] { static_cast<void>(last); });
}

}  // namespace
}  // namespace mortise::store_detail::boost_wire_test
