// SPDX-License-Identifier: BSL-1.0
#include "mortise/outbox/relay.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>

namespace mortise::test::outbox_relay_config_test {
namespace {

using namespace std::chrono_literals;
using outbox::relay_event;

class OutboxRelayConfig : public outbox_world {};

TEST_F(OutboxRelayConfig, SaysThatAFactoryMadeNoSink) {
    auto how = config();
    how.sink = [](const asio::any_io_executor&, std::uint32_t) {
        return std::unique_ptr<outbox::sink>();
    };
    start(how);
    EXPECT_TRUE(eventually([&] { return events(relay_event::kind::failed) > 0; }));
    const std::lock_guard hold(events_mutex_);
    EXPECT_EQ(events_.front().code, mortise::errc::bad_config);
}

TEST_F(OutboxRelayConfig, RefusesWhatCannotWork) {
    const auto refused = [this](auto change) {
        auto how = config();
        change(how);
        try {
            outbox::relay relay(site_.executor(), how);
        } catch (const error& why) {
            return why.code() == mortise::errc::bad_config && !why.remedy().empty();
        }
        return false;
    };
    EXPECT_TRUE(refused([](auto& how) { how.database.clear(); }));
    EXPECT_TRUE(refused([](auto& how) { how.sink = nullptr; }));
    EXPECT_TRUE(refused([](auto& how) { how.batch_rows = 0; }));
    EXPECT_TRUE(refused([](auto& how) { how.batch_bytes = 0; }));
    EXPECT_TRUE(refused([](auto& how) { how.purge_rows = 0; }));
    EXPECT_TRUE(refused([](auto& how) { how.purge_after = 0ms; }));
    EXPECT_TRUE(refused([](auto& how) { how.keep = -1ms; }));
    EXPECT_TRUE(refused([](auto& how) { how.look_every = 0ms; }));
    EXPECT_TRUE(refused([](auto& how) { how.share_every = -1ms; }));
    EXPECT_TRUE(refused([](auto& how) { how.retry_max = 0ms; }));
}

}  // namespace
}  // namespace mortise::test::outbox_relay_config_test
